// The Loop of real time, on Boost.Asio: timers on the steady clock, sockets (other files of this
// room) on the same thread. Asio stays inside the room's sources.
#pragma once

#include <memory>

#include "berth/base/loop.h"

namespace boost::asio {
class io_context;
}

namespace berth::net {

/// now() starts at the system's time and then follows the steady clock, so it never jumps. All
/// calls except post_from_any_thread() belong to the thread that runs the loop.
class AsioLoop final : public Loop {
 public:
  AsioLoop();
  ~AsioLoop() override;
  AsioLoop(const AsioLoop&) = delete;
  AsioLoop& operator=(const AsioLoop&) = delete;

  TimePoint now() const override;
  void post(Task task) override;
  TimerId after(Duration delay, Task task) override;
  void cancel(TimerId id) override;

  void post_from_any_thread(Task task);
  /// Runs what is due for `span`, then returns. A task that is running is finished first.
  void run_for(Duration span);
  /// Runs until stop().
  void run();
  /// Makes run() or run_for() return after the current task. Any thread. Forgotten where neither
  /// runs yet: post_from_any_thread() the stop of a loop that is about to.
  void stop();

  /// For this room's sockets.
  boost::asio::io_context& io();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace berth::net
