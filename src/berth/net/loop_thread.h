// A loop with a thread of its own, for components that are to have a core of their own.
#pragma once

#include <thread>

#include "berth/net/asio_loop.h"

namespace berth::net {

/// Components are made on the loop before start(), and go after stop(): meanwhile the loop and all
/// that lives on it belong to the thread, and other threads may only post to it
/// (post_from_any_thread).
class LoopThread {
 public:
  LoopThread() = default;
  ~LoopThread() { stop(); }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  AsioLoop& loop() { return loop_; }
  void start();
  /// Returns when the task that is running has ended; what waits never runs. May be called again.
  void stop();

 private:
  AsioLoop loop_;
  std::thread thread_;
};

} // namespace berth::net
