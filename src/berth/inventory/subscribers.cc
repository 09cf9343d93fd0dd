#include "berth/inventory/subscribers.h"

#include <utility>

namespace berth::inventory {

class Subscribers::Handle final : public Subscription {
 public:
  Handle(std::weak_ptr<Subscribers> subscribers, std::uint64_t id)
      : subscribers_(std::move(subscribers)), id_(id) {}
  ~Handle() override {
    if (const auto subscribers = subscribers_.lock()) {
      subscribers->by_id_.erase(id_);
    }
  }

 private:
  std::weak_ptr<Subscribers> subscribers_;
  std::uint64_t id_;
};

std::unique_ptr<Subscription> Subscribers::add(std::function<void(const HealthEvent&)> on_event) {
  const std::uint64_t id = next_id_++;
  by_id_.emplace(id, std::move(on_event));
  return std::make_unique<Handle>(weak_from_this(), id);
}

void Subscribers::publish(const std::function<void(Task)>& post, const HealthEvent& event) {
  for (const auto& entry : by_id_) {
    post([weak = weak_from_this(), id = entry.first, event] {
      if (const auto subscribers = weak.lock()) {
        subscribers->deliver(id, event);
      }
    });
  }
}

void Subscribers::deliver(std::uint64_t id, const HealthEvent& event) const {
  if (const auto it = by_id_.find(id); it != by_id_.end()) {
    // A copy: the callback may end its own subscription.
    const auto on_event = it->second;
    on_event(event);
  }
}

} // namespace berth::inventory
