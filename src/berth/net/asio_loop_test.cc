#include "berth/net/asio_loop.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::net {
namespace {

using ::testing::ElementsAre;

// In an order that holds however long the machine pauses between two of these lines.
TEST(AsioLoop, RunsTasksInOrderOfDueTimeThenSubmission) {
  AsioLoop loop;
  std::vector<std::string> ran;
  loop.after(Duration::seconds(3600), [&] { ran.emplace_back("in an hour"); });
  loop.post([&] { ran.emplace_back("first"); });
  loop.post([&] { ran.emplace_back("second"); });
  loop.after(Duration::millis(1), [&] { ran.emplace_back("early"); });
  loop.after(Duration::millis(2), [&] {
    ran.emplace_back("late");
    loop.stop();
  });
  EXPECT_THAT(ran, ElementsAre()) << "never inside the call";
  loop.run();
  EXPECT_THAT(ran, ElementsAre("first", "second", "early", "late"));
}

TEST(AsioLoop, ACancelledTimerDoesNotRun) {
  AsioLoop loop;
  std::vector<int> ran;
  const TimerId gone = loop.after(Duration::millis(1), [&] { ran.push_back(1); });
  loop.after(Duration::millis(2), [&] {
    ran.push_back(2);
    loop.stop();
  });
  loop.cancel(gone);
  loop.cancel(gone);
  loop.cancel(12345);
  loop.run();
  EXPECT_THAT(ran, ElementsAre(2));
}

TEST(AsioLoop, ATaskMayCancelAndAdd) {
  AsioLoop loop;
  std::vector<int> ran;
  TimerId other = 0;
  loop.post([&] {
    ran.push_back(1);
    loop.cancel(other);
    loop.post([&] {
      ran.push_back(3);
      loop.stop();
    });
  });
  other = loop.after(Duration(), [&] { ran.push_back(2); });
  loop.run();
  EXPECT_THAT(ran, ElementsAre(1, 3));
}

TEST(AsioLoop, TimeNeverGoesBackAndTasksAreNeverEarly) {
  AsioLoop loop;
  const TimePoint before = loop.now();
  TimePoint at;
  loop.after(Duration::millis(3), [&] {
    at = loop.now();
    loop.stop();
  });
  loop.run();
  EXPECT_GE(at, before + Duration::millis(3));
}

TEST(AsioLoop, AnEndlessDelayIsLegal) {
  AsioLoop loop;
  bool ran = false;
  const TimerId never = loop.after(Duration::max(), [&] { ran = true; });
  loop.run_for(Duration::millis(1));
  EXPECT_FALSE(ran);
  loop.cancel(never);
}

TEST(AsioLoop, RunForReturnsWithNothingToDoAndCanGoOn) {
  AsioLoop loop;
  int ran = 0;
  loop.run_for(Duration::millis(1));
  loop.post([&] { ++ran; });
  loop.run_for(Duration::millis(5));
  EXPECT_EQ(ran, 1);
}

TEST(AsioLoop, AnotherThreadMayPostAndStop) {
  AsioLoop loop;
  int ran = 0;
  std::thread other([&] {
    loop.post_from_any_thread([&] { ++ran; });
    loop.post_from_any_thread([&] { loop.stop(); });
  });
  loop.run();
  other.join();
  EXPECT_EQ(ran, 1);
}

} // namespace
} // namespace berth::net
