// What a container gets with its devices: the answer of Allocate. Fields and texts as NVIDIA's
// k8s-device-plugin has them (internal/plugin/server.go).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cdi/driver_numbers.h"
#include "berth/cdi/nvidia.h"
#include "berth/deviceplugin/config/config.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/resource_plan.h"

namespace berth::deviceplugin {

/// The driver's device files on this node.
struct DriverNodes {
  std::vector<std::string> control = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                      "/dev/nvidia-modeset"};
  /// The driver's libraries and tools; nothing: those that one of its version certainly has.
  std::optional<cdi::DriverFiles> files = {};
  cdi::MigMinors mig;
  std::int64_t uvm_major = 510;
  std::int64_t caps_major = 508;
  std::vector<std::int64_t> imex_channels; ///< those configured that there are
  /// What goes beside GPUs where it is enabled; a class without files is given to nobody.
  std::vector<std::string> gdrcopy = {"/dev/gdrdrv"};
  std::vector<std::string> gds = {"/dev/nvidia-fs0"};
  std::vector<std::string> mofed = {"/dev/infiniband/rdma_cm"};
};

/// A class of devices that goes beside GPUs, and its files.
struct Companion {
  std::string_view device_class; ///< "gds"
  const std::vector<std::string>& files;
};
/// Those that are enabled, whether they have files or not. Valid as long as `nodes`.
std::vector<Companion> companions(const Flags& flags, const DriverNodes& nodes);

/// Lives as long as one call.
struct AllocationRequest {
  const PlannedResource& resource;
  const std::vector<std::string>& ids;
  const Config& config;
  const DriverNodes& nodes;
  std::string_view response_id; ///< a UUID, for the annotation's key
};

/// Error Invalid: "invalid allocation request for ...": an unknown id, more replicas than a request
/// may have, or a MIG device without its capability files.
Result<ContainerAllocateResponse> allocate_container(const AllocationRequest& request);

/// The CDI kind of a class of the plugin's own: "k8s.device-plugin.nvidia.com/gds".
std::string plugin_kind(std::string_view device_class);

} // namespace berth::deviceplugin
