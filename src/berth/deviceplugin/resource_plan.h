// From the GPUs of a node and the configuration to what is advertised: resources with their
// devices, as NVIDIA's plugin names them (internal/rm). Where it would fail altogether, a resource
// without devices is advertised and the reason kept.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/deviceplugin/config/config.h"
#include "berth/inventory/facts.h"

namespace berth::deviceplugin {

struct MigInstance {
  int gpu_instance = 0;
  int compute_instance = 0;
  auto operator<=>(const MigInstance&) const = default;
};

/// What a kubelet counts and gives out: a GPU, a MIG device, or a replica of one.
struct PluginDevice {
  std::string id;    ///< of the kubelet: the UUID, or "UUID::n" of replica n
  std::string uuid;  ///< of the GPU or MIG device
  std::string index; ///< "0", "0:1"
  int gpu = 0;       ///< index of the GPU that it is or lies on
  int minor = 0;     ///< of /dev/nvidia<minor>
  std::optional<MigInstance> mig;
  std::optional<int> numa; ///< the GPU's; none: not said
  bool replica = false;

  bool operator==(const PluginDevice&) const = default;
};

struct PlannedResource {
  std::string name;
  std::vector<PluginDevice> devices; ///< by GPU; ids are distinct
  inventory::Sharing sharing = inventory::Sharing::None;

  const PluginDevice* find(std::string_view id) const;
  bool operator==(const PlannedResource&) const = default;
};

struct ResourcePlan {
  std::vector<PlannedResource> resources; ///< by name
  std::vector<std::string> problems;      ///< why something is not advertised

  const PlannedResource* find(std::string_view name) const;
};

/// "mig-1g.10gb.me" for profile "1g.10gb+me".
std::string mig_resource(std::string_view profile);

/// With strategy single, and with MPS, what breaks the rules leaves its resource without devices;
/// with mixed, only the GPU that has no MIG devices yet. A node with GPUs has at least one
/// resource.
ResourcePlan plan_resources(const inventory::NodeFacts& facts, const Config& config);

} // namespace berth::deviceplugin
