// Giving a pod its devices: container by container, resource by resource, asking the plugin which
// devices it would prefer and what the container needs to use them. Order and texts are the
// kubelet's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/deviceplugin/contract.h"
#include "berth/model/pod.h"
#include "berth/node/device_book.h"
#include "berth/node/device_picker.h"

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

/// Which containers still need their devices.
enum class AllocationScope {
  Whole,   ///< a pod at its beginning
  Running, ///< the init phase is over: sidecars and app containers
};

/// To be owned by a shared_ptr: nothing is called back once it is gone. Pods are served one after
/// another, so that what one was promised is not given to the next.
class DeviceAllocator : public std::enable_shared_from_this<DeviceAllocator> {
 public:
  using Done = std::function<void(AllocationVerdict)>;

  DeviceAllocator(Loop& loop, std::shared_ptr<DeviceBook> book);

  /// Every container of the pod gets its devices, init containers first, or none gets new ones.
  /// `done` comes by a later task.
  void allocate(std::shared_ptr<const model::Pod> pod, AllocationScope scope, Done done);
  /// What the pod still asks for is rejected.
  void cancel(std::string_view pod_uid);

 private:
  struct Allocation;
  using Turn = std::shared_ptr<Allocation>;

  void serve();
  void step(const Turn& allocation);
  void ask(const Turn& allocation, const DeviceRequest& request, const PickPlan& plan);
  void fetch(const Turn& allocation, const DeviceRequest& request, std::vector<std::string> ids);
  void grant(const Turn& allocation, const DeviceRequest& request,
             const std::vector<std::string>& ids, deviceplugin::ContainerAllocateResponse response);
  void pass_on(Allocation& allocation, const DeviceRequest& request);
  void finish(const Turn& allocation, AllocationVerdict verdict);

  PickRequest pick_request(const Allocation& allocation, const DeviceRequest& request) const;
  std::optional<std::vector<std::string>> chosen_gpus(const model::Pod& pod) const;
  AllocationVerdict verdict_of(const Error& error, const PickRequest& request) const;

  Loop* loop_;
  std::shared_ptr<DeviceBook> book_;
  std::deque<Turn> queue_; ///< the front one is being served
  bool serving_ = false;
};

} // namespace berth::node
