// Work that would block a loop, done beside it: the loop goes on meanwhile and is told afterwards.
#pragma once

#include "berth/base/loop.h"

namespace berth {

/// One piece of work at a time, in the order given. Belongs to the loop's thread.
class Background {
 public:
  /// Waits for the work that was given; what was to follow it is still the loop's to run.
  virtual ~Background() = default;
  /// Does `work`, perhaps on another thread, then runs `then` as a task of the loop.
  virtual void run(Task work, Task then) = 0;
};

/// Without a thread, as virtual time needs it: the work is done before run() returns.
class Foreground final : public Background {
 public:
  explicit Foreground(Loop& loop) : loop_(&loop) {}
  void run(Task work, Task then) override {
    work();
    loop_->post(std::move(then));
  }

 private:
  Loop* loop_;
};

} // namespace berth
