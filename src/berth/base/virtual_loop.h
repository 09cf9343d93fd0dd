// The Loop of simulation: time jumps to the next event. Deterministic: equal inputs give equal
// runs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "berth/base/loop.h"

namespace berth {

/// Events are ordered by (due time, submission number). step() is O(log n); cancel() is O(log n).
class VirtualLoop final : public Loop {
 public:
  explicit VirtualLoop(TimePoint start) : now_(start) {}

  TimePoint now() const override { return now_; }
  void post(Task task) override { after(Duration(), std::move(task)); }
  TimerId after(Duration delay, Task task) override;
  void cancel(TimerId id) override;

  /// Runs the next event; false if there is none.
  bool step();
  /// The process was suspended, or the clock was set forward: time passes and nothing runs. What
  /// became due meanwhile runs late, in order.
  void stall(Duration d) { now_ = now_ + d; }
  /// Runs every event due at or before `end`, then sets the clock to `end`.
  void run_until(TimePoint end);
  /// Runs until no event is left or `limit` events have run; true if none is left.
  bool run_to_idle(std::size_t limit = SIZE_MAX);
  /// Due time of the next event; TimePoint::max() if none.
  TimePoint next() const;
  std::size_t pending() const { return events_.size(); }

 private:
  using Key = std::pair<TimePoint, TimerId>;
  TimePoint now_;
  TimerId next_id_ = 1;
  std::map<Key, Task> events_;
  std::unordered_map<TimerId, TimePoint> due_;
};

} // namespace berth
