#include "berth/base/virtual_loop.h"

#include <algorithm>

namespace berth {

TimerId VirtualLoop::after(Duration delay, Task task) {
  const TimerId id = next_id_++;
  // Delays beyond the end of time wait there.
  const Duration left = TimePoint::max() - std::max(now_, TimePoint());
  const TimePoint due = now_ + std::clamp(delay, Duration(), left);
  events_.emplace(Key(due, id), std::move(task));
  due_.emplace(id, due);
  return id;
}

void VirtualLoop::cancel(TimerId id) {
  const auto it = due_.find(id);
  if (it == due_.end()) {
    return;
  }
  events_.erase(Key(it->second, id));
  due_.erase(it);
}

bool VirtualLoop::step() {
  if (events_.empty()) {
    return false;
  }
  auto node = events_.extract(events_.begin());
  due_.erase(node.key().second);
  now_ = std::max(now_, node.key().first);
  node.mapped()();
  return true;
}

void VirtualLoop::run_until(TimePoint end) {
  while (!events_.empty() && events_.begin()->first.first <= end) {
    step();
  }
  now_ = std::max(now_, end);
}

bool VirtualLoop::run_to_idle(std::size_t limit) {
  for (std::size_t i = 0; i < limit; ++i) {
    if (!step()) {
      return true;
    }
  }
  return events_.empty();
}

TimePoint VirtualLoop::next() const {
  return events_.empty() ? TimePoint::max() : events_.begin()->first.first;
}

} // namespace berth
