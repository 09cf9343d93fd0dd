#include "berth/net/asio_loop.h"

#include <memory>
#include <numeric>
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

TEST(AsioLoop, TasksOfOtherThreadsRunOnItInTheOrderOfEach) {
  constexpr int kThreads = 3;
  constexpr int kEach = 2000;
  AsioLoop loop;
  std::vector<std::vector<int>> ran(kThreads);
  std::size_t open = std::size_t{kThreads} * kEach;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        loop.post_from_any_thread([&, thread, i] {
          ran.at(static_cast<std::size_t>(thread)).push_back(i);
          if (--open == 0) {
            loop.stop();
          }
        });
      }
    });
  }
  loop.run();
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::vector<int> all(kEach);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(ran, testing::Each(all));
}

// What waits when a loop goes is dropped while it can still be spoken to.
TEST(AsioLoop, TasksThatNeverRanMayHoldItsTimers) {
  bool ran = false;
  {
    AsioLoop loop;
    const auto timer_of = [&] {
      auto timer = std::make_shared<Timer>(loop);
      timer->set(Duration::seconds(1), [&] { ran = true; });
      return timer;
    };
    loop.post([held = timer_of()] { held->cancel(); });
    loop.after(Duration::seconds(2), [held = timer_of()] { held->cancel(); });
    loop.post_from_any_thread([held = timer_of()] { held->cancel(); });
  }
  EXPECT_FALSE(ran);
}

} // namespace
} // namespace berth::net
