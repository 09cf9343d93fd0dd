#include "berth/net/loop_thread.h"

#include <thread>

#include <gtest/gtest.h>

namespace berth::net {
namespace {

TEST(LoopThread, RunsItsLoopElsewhereUntilItIsStopped) {
  LoopThread thread;
  AsioLoop here;
  std::thread::id ran_on;
  thread.loop().post([&] { ran_on = std::this_thread::get_id(); }); // of before the start
  thread.start();
  // Posted, as a loop that has not begun to run forgets that it was stopped.
  thread.loop().post_from_any_thread([&] { here.post_from_any_thread([&] { here.stop(); }); });
  here.run();
  thread.stop();
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_NE(ran_on, std::thread::id());
  bool late = false;
  thread.loop().post_from_any_thread([&] { late = true; });
  thread.stop();
  EXPECT_FALSE(late);
}

TEST(LoopThread, MayBeStoppedAsSoonAsItHasBegun) {
  for (int i = 0; i < 100; ++i) {
    LoopThread thread;
    thread.start();
  }
}

} // namespace
} // namespace berth::net
