// What must hold before a container is started: its devices are recorded, there and known to their
// plugin, after a reboot too; and the plugin was told where it wants to be.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/base/loop.h"
#include "berth/model/pod.h"
#include "berth/node/device_allocator.h"
#include "berth/node/device_book.h"

namespace berth::node {

/// To be owned by a shared_ptr: nothing is called back once it is gone.
class DevicePreparation : public std::enable_shared_from_this<DevicePreparation> {
 public:
  using Done = std::function<void(AllocationVerdict)>;

  DevicePreparation(Loop& loop, std::shared_ptr<DeviceBook> book);

  /// `done` comes by a later task.
  void prepare(std::shared_ptr<const model::Pod> pod, const std::string& container, Done done);

 private:
  AllocationVerdict check(const model::Pod& pod, const std::string& container) const;
  /// Whether every container that holds something may have it.
  bool all_well(const model::Pod& pod) const;
  void refill(const std::shared_ptr<const model::Pod>& pod, const std::string& container,
              Done done);
  void tell(const model::Pod& pod, const std::string& container, Done done);

  Loop* loop_;
  std::shared_ptr<DeviceBook> book_;
};

} // namespace berth::node
