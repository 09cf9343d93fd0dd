// Who listens to health events; shared by every inventory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "berth/base/loop.h"
#include "berth/inventory/inventory.h"

namespace berth::inventory {

/// Lives on one Loop. Held by shared_ptr, so that a subscription may outlive the inventory.
class Subscribers : public std::enable_shared_from_this<Subscribers> {
 public:
  std::unique_ptr<Subscription> add(std::function<void(const HealthEvent&)> on_event);
  /// One task of the loop for each who listens now; nothing is delivered to who left meanwhile.
  /// `post` puts a task on the loop.
  void publish(const std::function<void(Task)>& post, const HealthEvent& event);

 private:
  class Handle;
  void deliver(std::uint64_t id, const HealthEvent& event) const;

  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::function<void(const HealthEvent&)>> by_id_;
};

} // namespace berth::inventory
