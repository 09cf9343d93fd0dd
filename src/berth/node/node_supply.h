// What the agent's node has to give, for admission, for the device manager and for the Node object.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/inventory/inventory.h"
#include "berth/model/gpu_share.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/hami.h"
#include "berth/node/device_manager.h"
#include "berth/node/gpu_devices.h"
#include "berth/node/gpu_health.h"
#include "berth/node/hami_sharing.h"
#include "berth/node/node_status.h"
#include "berth/node/startup_taint.h"

namespace berth::node {

/// What it is made with outlives it. `stored`: the Node as the API has it; empty before it is
/// known.
class NodeSupply {
 public:
  struct Place {
    const inventory::Inventory* inventory = nullptr; ///< may be null: there are no GPUs
    const DeviceManager* devices = nullptr;
    GpuDevices* gpus = nullptr;
    const GpuHealth* health = nullptr;
  };
  /// See AgentOptions.
  struct Rules {
    std::vector<std::string> plugin_resources;
    std::optional<HamiSettings> hami;
    model::ReplicaLimit replica_limit = model::ReplicaLimit::ByStrategy;
    StartupTaint startup_taint = StartupTaint::None;
  };
  /// `base`: make_base_node's.
  NodeSupply(Place place, const api::json::value& base, Rules rules);

  /// Of every resource; devices that pods hold count as there, whatever has become of them.
  model::ResourceList allocatable() const;
  /// What the stored Node names and a plugin alone can have given it: by what this agent is told,
  /// and by what it or one before it has annotated. What somebody wrote into the status is not.
  std::vector<std::string> given_by_plugins(const api::Object& stored) const;
  /// Only a device plugin can give the resource.
  bool needs_plugin(std::string_view resource, const api::Object& stored) const;
  /// The node's GPUs as the scheduler sees them: by the node that is stored, or will be.
  model::ShareableGpus shareable(const api::Object& stored) const;
  /// Empty: GPUs are no vGPUs here.
  std::vector<model::hami::Device> vgpus() const;
  using PodIsOver = std::function<bool(std::string_view ns, std::string_view name)>;
  /// `over`: see HamiSharing::annotations.
  NodeFacts facts(const api::Object& stored, TimePoint now, const PodIsOver& over) const;

 private:
  std::map<std::string, DeviceCount> accounting() const;
  std::set<std::string> unconfigured(const api::Object& stored) const;
  bool configured(std::string_view resource) const;
  bool awaits_gpus() const;

  Place place_;
  const api::json::value* base_;
  Rules rules_;
  std::optional<HamiSharing> hami_;
};

} // namespace berth::node
