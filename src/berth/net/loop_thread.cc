#include "berth/net/loop_thread.h"

#include <latch>

namespace berth::net {

void LoopThread::start() {
  std::latch running(1); // to stop a loop before it runs would be forgotten
  loop_.post([&running] { running.count_down(); });
  thread_ = std::thread([this] { loop_.run(); });
  running.wait();
}

void LoopThread::stop() {
  if (thread_.joinable()) {
    loop_.stop();
    thread_.join();
  }
}

} // namespace berth::net
