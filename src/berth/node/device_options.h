// What the parts of the device manager are told by the agent around them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/model/gpu_share.h"
#include "berth/model/hami.h"
#include "berth/topology/settings.h"

namespace berth::node {

/// How a pod that holds devices stands; the manager asks before it believes that a device is taken.
enum class HolderState { Live, Dying, Gone };

/// What is done with a pod whose plugin is not there now but may come back, or whose devices are in
/// the hands of pods on their way out.
enum class Patience {
  Wait,
  None, ///< it is rejected at once, as the kubelet has it
};

struct DeviceManagerOptions {
  std::string boot_id;
  Duration endpoint_stop_grace = Duration::minutes(5);
  /// After a start, resources nobody has registered yet may still come.
  Duration startup_wait = Duration::minutes(5);
  Duration rpc_timeout = Duration::seconds(30);
  Patience patience = Patience::Wait;
  /// What is done about NUMA nodes; by default nothing.
  topology::Rules numa;
  /// Resources that only a plugin can give, known or not; others are never the manager's business.
  std::function<bool(std::string_view resource)> needs_plugin;
  /// The device of a GPU index, for pods whose GPUs the scheduler chose; none if there is no such
  /// GPU.
  std::function<std::optional<std::string>(int index)> gpu_of_index;
  /// The other way round, of replicas and MIG devices the GPU that they are on; none for what is no
  /// GPU of this machine. May be empty: order is then that of the names.
  std::function<std::optional<int>(const std::string& id)> index_of_gpu;
  /// What the node's GPUs are as parts are given of them; 0 GPUs where it has none, and no pod is
  /// then given any. May be empty: the same.
  std::function<model::ShareableGpus()> shareable;
  /// The node's GPUs as vGPUs are given of them. Where there are any, nvidia.com/gpu is a number of
  /// vGPUs. May be empty: there are none.
  std::function<std::vector<model::hami::Device>()> vgpus;
  std::function<HolderState(std::string_view pod_uid)> holder_state;
  /// Capacity, health or who holds what may have changed. Runs as a later task.
  std::function<void()> on_change;
};

} // namespace berth::node
