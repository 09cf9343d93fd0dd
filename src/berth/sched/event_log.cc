#include "berth/sched/event_log.h"

#include "berth/base/assert.h"

namespace berth::sched {

EventLog::Flight EventLog::open() {
  flights_.insert(next_);
  return next_;
}

void EventLog::close(Flight flight) {
  const auto it = flights_.find(flight);
  BERTH_ASSERT(it != flights_.end(), "flight is not open: " + std::to_string(flight));
  flights_.erase(it);
  const std::uint64_t needed = flights_.empty() ? next_ : *flights_.begin();
  while (first_ < needed && !entries_.empty()) {
    entries_.pop_front();
    ++first_;
  }
  first_ = std::max(first_, needed);
}

void EventLog::record(const ClusterEvent& event, std::string_view except) {
  if (flights_.empty()) {
    return;
  }
  if (entries_.empty()) {
    first_ = next_;
  }
  entries_.push_back({.event = event, .except = std::string(except)});
  ++next_;
}

} // namespace berth::sched
