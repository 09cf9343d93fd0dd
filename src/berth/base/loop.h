// Time and turns as a parameter. Every component runs on one Loop: no locks, no sleeps, no clocks
// of its own. VirtualLoop (virtual_loop.h) jumps from event to event; net's AsioLoop is the real
// clock.
#pragma once

#include <cstdint>
#include <functional>

#include "berth/base/time.h"

namespace berth {

using Task = std::function<void()>;

/// Names a timer for cancel(). 0 is never used by a live timer.
using TimerId = std::uint64_t;

/// Tasks run one at a time, in order of due time, then of submission. Never re-entrant: post() and
/// after() return before the task runs.
class Loop {
 public:
  virtual ~Loop() = default;

  virtual TimePoint now() const = 0;
  /// Runs the task after those already due. Called from the loop's own thread.
  virtual void post(Task task) = 0;
  /// Runs the task at now() + delay; a delay <= 0 is post().
  virtual TimerId after(Duration delay, Task task) = 0;
  /// Forgets the timer; harmless if it has run or was cancelled.
  virtual void cancel(TimerId id) = 0;
};

/// A timer that is cancelled when its owner goes or sets it again.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(&loop) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(Duration delay, Task task);
  void cancel();
  bool armed() const { return id_ != 0; }

 private:
  Loop* loop_;
  TimerId id_ = 0;
};

} // namespace berth
