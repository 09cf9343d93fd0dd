// Queue: what it tells about itself.
#include "berth/sched/queue.h"

namespace berth::sched {

Queue::Depth Queue::depth() const {
  return {.active = active_.size(),
          .backoff = backoff_.size() + error_backoff_.size(),
          .unschedulable = unschedulable_.size(),
          .gated = gated_.size(),
          .in_flight = in_flight_};
}

const QueuedPod* Queue::find(std::string_view uid) const {
  const Item* known = item(uid);
  return known == nullptr || known->place == Place::InFlight ? nullptr : &known->info;
}

std::optional<Queue::Place> Queue::where(std::string_view uid) const {
  const Item* known = item(uid);
  return known == nullptr ? std::nullopt : std::optional(known->place);
}

void Queue::for_each_waiting(const std::function<void(const QueuedPod&)>& visit) const {
  for (const auto& [uid, known] : items_) {
    if (known->place != Place::InFlight) {
      visit(known->info);
    }
  }
}

std::vector<std::string> Queue::waiting() const {
  std::vector<std::string> uids;
  for (const auto& [uid, known] : items_) {
    if (known->place != Place::InFlight) {
      uids.push_back(uid);
    }
  }
  return uids;
}

} // namespace berth::sched
