#include "berth/base/virtual_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth {
namespace {

using testing::ElementsAre;

constexpr TimePoint kStart = TimePoint::from_unix_seconds(1000);

TEST(VirtualLoop, RunsInOrderOfTimeThenOfSubmission) {
  VirtualLoop loop(kStart);
  std::vector<std::string> ran;
  const auto note = [&](const char* name) { return [&ran, name] { ran.push_back(name); }; };
  loop.after(Duration::seconds(2), note("late"));
  loop.after(Duration::seconds(1), note("one"));
  loop.after(Duration::seconds(1), note("two"));
  loop.post(note("now"));
  loop.after(Duration::seconds(-5), note("past"));
  EXPECT_TRUE(ran.empty()) << "never before the caller returns";
  EXPECT_TRUE(loop.run_to_idle());
  EXPECT_THAT(ran, ElementsAre("now", "past", "one", "two", "late"));
  EXPECT_EQ(loop.now(), kStart + Duration::seconds(2));
}

TEST(VirtualLoop, TimeStandsStillDuringATask) {
  VirtualLoop loop(kStart);
  TimePoint inner;
  loop.after(Duration::seconds(1), [&] { loop.post([&] { inner = loop.now(); }); });
  loop.run_to_idle();
  EXPECT_EQ(inner, kStart + Duration::seconds(1));
}

TEST(VirtualLoop, CancelForgetsATimer) {
  VirtualLoop loop(kStart);
  int ran = 0;
  const TimerId id = loop.after(Duration::seconds(1), [&] { ++ran; });
  loop.cancel(id);
  loop.cancel(id);
  loop.cancel(12345);
  EXPECT_EQ(loop.pending(), 0U);
  EXPECT_EQ(loop.next(), TimePoint::max());
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(ran, 0);
}

TEST(VirtualLoop, RunUntilStopsTheClockAtTheEnd) {
  VirtualLoop loop(kStart);
  int ran = 0;
  loop.after(Duration::seconds(5), [&] { ++ran; });
  loop.after(Duration::seconds(6), [&] { ++ran; });
  loop.run_until(kStart + Duration::seconds(5));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(loop.now(), kStart + Duration::seconds(5));
  EXPECT_EQ(loop.next(), kStart + Duration::seconds(6));
  loop.run_until(kStart);
  EXPECT_EQ(loop.now(), kStart + Duration::seconds(5)) << "time does not go back";
}

TEST(VirtualLoop, RunToIdleGivesUpAtItsLimit) {
  VirtualLoop loop(kStart);
  std::function<void()> again = [&] { loop.post(again); };
  loop.post(again);
  EXPECT_FALSE(loop.run_to_idle(100));
  EXPECT_EQ(loop.pending(), 1U);
}

TEST(VirtualLoop, EndlessDelaysStayInTheFuture) {
  VirtualLoop loop(kStart);
  int ran = 0;
  loop.after(Duration::max(), [&] { ++ran; });
  EXPECT_EQ(loop.next(), TimePoint::max());
  loop.run_until(kStart + Duration::hours(24));
  EXPECT_EQ(ran, 0);
}

TEST(Timer, SettingAgainReplaces) {
  VirtualLoop loop(kStart);
  std::vector<int> ran;
  {
    Timer timer(loop);
    EXPECT_FALSE(timer.armed());
    timer.set(Duration::seconds(1), [&] { ran.push_back(1); });
    timer.set(Duration::seconds(2), [&] { ran.push_back(2); });
    EXPECT_TRUE(timer.armed());
    loop.run_to_idle();
    EXPECT_FALSE(timer.armed());
    timer.set(Duration::seconds(1), [&] {
      ran.push_back(3);
      timer.set(Duration::seconds(1), [&] { ran.push_back(4); });
    });
    loop.run_to_idle();
    timer.set(Duration::seconds(1), [&] { ran.push_back(5); });
  }
  loop.run_to_idle();
  EXPECT_THAT(ran, ElementsAre(2, 3, 4)) << "a timer that goes takes its task along";
}

TEST(VirtualLoopProperty, AgreesWithAListThatIsSearchedForTheEarliest) {
  struct Waiting {
    TimePoint due;
    TimerId id;
    int value;
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    VirtualLoop loop(kStart);
    std::vector<int> ran;
    std::vector<int> want;
    std::vector<Waiting> waiting;
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t action = rng.below(4);
      if (action < 2) {
        const Duration delay = Duration::seconds(rng.between(-1, 5));
        const TimerId id = loop.after(delay, [&ran, i] { ran.push_back(i); });
        waiting.push_back({loop.now() + std::max(delay, Duration()), id, i});
      } else if (action == 2 && !waiting.empty()) {
        const auto victim =
            waiting.begin() + static_cast<std::ptrdiff_t>(rng.below(waiting.size()));
        loop.cancel(victim->id);
        waiting.erase(victim);
      } else if (loop.step()) {
        const auto first = std::min_element(
            waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
              return std::pair(a.due, a.id) < std::pair(b.due, b.id);
            });
        ASSERT_NE(first, waiting.end());
        ASSERT_EQ(loop.now(), first->due);
        want.push_back(first->value);
        waiting.erase(first);
      }
      ASSERT_EQ(ran, want) << "seed " << seed;
      ASSERT_EQ(loop.pending(), waiting.size()) << "seed " << seed;
    }
  }
}

} // namespace
} // namespace berth
