// The kubelet's device manager: which devices exist, which container holds which, and what a
// container gets from them. Allocation order, accounting and every error text are the kubelet's
// (1.36); beyond it: endpoints have generations, a plugin that is coming back is waited for, advice
// is only advice, and the free set is derived from live pods instead of kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/deviceplugin/contract.h"
#include "berth/model/pod.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/device_ledger.h"
#include "berth/node/device_pool.h"

namespace berth::node {

/// What came of asking for a pod's devices.
struct AllocationVerdict {
  enum class Kind {
    Granted,
    Wait, ///< a plugin is coming back, or a dying pod still holds them: ask again when something
          ///< changes
    Rejected, ///< never
  };
  Kind kind = Kind::Granted;
  std::string message; ///< the kubelet's error text
};

/// How a pod that holds devices stands; the manager asks before it believes that a device is taken.
enum class HolderState { Live, Dying, Gone };

struct DeviceManagerOptions {
  std::string boot_id;
  Duration endpoint_stop_grace = Duration::minutes(5);
  /// After a start, resources nobody has registered yet may still come.
  Duration startup_wait = Duration::minutes(5);
  Duration rpc_timeout = Duration::seconds(30);
  /// The device of a GPU index, for pods whose GPUs the scheduler chose; "" if there is none.
  std::function<std::string(std::string_view resource, int index)> device_of_index;
  std::function<HolderState(std::string_view pod_uid)> holder_state;
  /// Capacity, health or who holds what may have changed. Runs as a later task.
  std::function<void()> on_change;
};

/// All asynchronous results are later tasks of the Loop. Destroying it is a crash: plugins' streams
/// are dropped, nothing is called back, the checkpoint stays.
class DeviceManager final : public deviceplugin::Registration {
 public:
  DeviceManager(Loop& loop, CheckpointStore& store, DeviceManagerOptions options);
  ~DeviceManager() override;
  DeviceManager(const DeviceManager&) = delete;
  DeviceManager& operator=(const DeviceManager&) = delete;

  void register_plugin(deviceplugin::RegisterRequest request,
                       deviceplugin::Done<void> done) override;

  /// Gives every container of the pod its devices, init containers first, or gives nothing new.
  /// Calls are served one after another.
  void allocate(std::shared_ptr<const model::Pod> pod, std::function<void(AllocationVerdict)> done);
  /// PreStartContainer where the plugin wants it.
  void prepare_container(const model::Pod& pod, std::string_view container,
                         deviceplugin::Done<void> done);
  /// What the container gets, merged over its resources: first wins.
  deviceplugin::ContainerAllocateResponse edits_of(std::string_view pod_uid,
                                                   std::string_view container) const;

  /// The pod's containers are dead: everything it held is free.
  void release(std::string_view pod_uid);
  /// The pod's init phase is over: what only its init containers hold is free.
  void release_init_surplus(const model::Pod& pod);
  /// A container found in the runtime that holds devices the checkpoint does not know.
  void adopt(std::string_view pod_uid, std::string_view container,
             const std::map<std::string, std::vector<std::string>>& devices);

  /// Resources with devices (or with a zero that stays), for the node's status.
  std::map<std::string, DeviceCount> accounting() const;
  /// Every resource that the checkpoint names has a live plugin again.
  bool complete() const;
  bool is_device_resource(std::string_view resource) const;
  DeviceHealth health(std::string_view resource, std::string_view id) const;
  /// Ids the plugin itself reports as unhealthy.
  std::vector<std::string> unhealthy(std::string_view resource) const;
  const DeviceLedger& ledger() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
