// Giving a pod what is its alone: container by container, first the topology manager's word where
// it is to be, then devices, resource by resource, asking the plugin which it would prefer and what
// the container needs to use them, then CPUs and memory. Order and texts are the kubelet's.
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
#include "berth/node/allocation_verdict.h"
#include "berth/node/device_book.h"
#include "berth/node/device_picker.h"

namespace berth::node {

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

  /// Every container of the pod gets its devices, CPUs and memory, or none gets new ones. Init
  /// containers come first; where NUMA nodes count they come last, so that what they use is what
  /// their pod has anyway. `done` comes by a later task.
  void allocate(std::shared_ptr<const model::Pod> pod, AllocationScope scope, Done done);
  /// What the pod still asks for is rejected.
  void cancel(std::string_view pod_uid);

 private:
  struct Allocation;
  using Turn = std::shared_ptr<Allocation>;

  void serve();
  void step(const Turn& allocation);
  bool begin_container(const Turn& allocation);
  void next_request(const Turn& allocation);
  void ask(const Turn& allocation, const DeviceRequest& request, const PickPlan& plan);
  void fetch(const Turn& allocation, const DeviceRequest& request, std::vector<std::string> ids);
  void grant(const Turn& allocation, const DeviceRequest& request,
             const std::vector<std::string>& ids, deviceplugin::ContainerAllocateResponse response);
  void pass_on(Allocation& allocation, const DeviceRequest& request);
  void finish(const Turn& allocation, AllocationVerdict verdict);

  PickRequest facts(const Allocation& allocation, const DeviceRequest& request) const;
  AllocationVerdict verdict_of(const Error& error, const PickRequest& request,
                               const DeviceRequest& asked) const;

  Loop* loop_;
  std::shared_ptr<DeviceBook> book_;
  std::deque<Turn> queue_; ///< the front one is being served
  bool serving_ = false;
};

} // namespace berth::node
