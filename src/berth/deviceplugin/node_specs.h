// The CDI specs that the plugin writes before it advertises a device.
#pragma once

#include <string>
#include <vector>

#include "berth/cdi/nvidia.h"
#include "berth/cdi/spec.h"
#include "berth/deviceplugin/allocation.h"
#include "berth/deviceplugin/config/config.h"
#include "berth/inventory/facts.h"

namespace berth::deviceplugin {

struct NodeSpec {
  std::string file; ///< "k8s.device-plugin.nvidia.com-gpu.json"
  cdi::Spec spec;
};

/// File name of the spec with the GPUs.
inline constexpr std::string_view kCdiSpecFile = "k8s.device-plugin.nvidia.com-gpu.json";

struct NodeSpecs {
  std::vector<NodeSpec> specs; ///< none for a node without GPUs
  /// UUIDs of MIG devices that no spec can be written of: their capability files are missing.
  std::vector<std::string> without_capabilities;
  std::vector<std::string> problems; ///< what is enabled and cannot be had
};

/// The GPUs as a CDI spec knows them. MIG devices whose capability files the driver does not have
/// are left out and named.
std::vector<cdi::NvidiaGpu> cdi_gpus(const inventory::NodeFacts& facts,
                                     const cdi::MigMinors& minors,
                                     std::vector<std::string>& without_capabilities);

/// Every GPU and MIG device under the name that Allocate gives it, and what goes beside them: GDS,
/// GDRCopy, MOFED, IMEX channels, each a spec of its own.
NodeSpecs node_specs(const inventory::NodeFacts& facts, const Config& config,
                     const DriverNodes& nodes);

} // namespace berth::deviceplugin
