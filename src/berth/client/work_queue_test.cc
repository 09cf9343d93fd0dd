#include "berth/client/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"

namespace berth::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const api::Key kA{"ns", "a"};
const api::Key kB{"ns", "b"};

class WorkQueueTest : public ::testing::Test {
 protected:
  /// Writes down when each key runs and ends it with `outcome`; with none, keeps `finish` for
  /// later.
  WorkQueue::Reconcile note() {
    return [this](const api::Key& key, WorkQueue::Finish finish) {
      runs.push_back(fmt::format("{}@{}", key.name, loop.now().unix_nanos() / 1'000'000));
      if (outcome) {
        finish(*outcome);
      } else {
        open.push_back(std::move(finish));
      }
    };
  }
  void run_for(Duration span) { loop.run_until(loop.now() + span); }

  VirtualLoop loop{TimePoint()};
  std::optional<Outcome> outcome = Outcome::Done;
  std::vector<std::string> runs;
  std::vector<WorkQueue::Finish> open;
  WorkQueue queue{loop, note()};
};

TEST_F(WorkQueueTest, RunsInALaterTaskAndCollapsesEqualKeys) {
  queue.add(kB);
  queue.add(kA);
  queue.add(kB);
  EXPECT_THAT(runs, IsEmpty());
  EXPECT_TRUE(loop.run_to_idle());
  EXPECT_THAT(runs, ElementsAre("b@0", "a@0"));
  EXPECT_TRUE(queue.idle());
}

TEST_F(WorkQueueTest, ACrowdIsNotLookedAtForEachOfItsMembers) {
  WorkQueue crowds(loop, [&](const api::Key& key, const WorkQueue::Finish& finish) {
    runs.push_back(fmt::format("{}@{}", key.name, loop.now().unix_nanos() / 1'000'000));
    crowds.looks_at(key, key == kA ? 1000 : 63);
    finish(Outcome::Done);
  });
  for (int ms = 0; ms < 50; ++ms) {
    crowds.add(kA);
    if (ms < 3) {
      crowds.add(kB);
    }
    run_for(Duration::millis(1));
  }
  EXPECT_THAT(runs, ElementsAre("a@0", "b@0", "b@1", "b@2", "a@20", "a@40"));
  EXPECT_FALSE(crowds.idle()) << "what changed since is still to be looked at";
  EXPECT_TRUE(loop.run_to_idle());
  EXPECT_EQ(runs.back(), "a@60");
  EXPECT_TRUE(crowds.idle());
}

TEST_F(WorkQueueTest, AKeyAddedWhileWorkedOnRunsOnceMore) {
  outcome.reset();
  queue.add(kA);
  loop.run_to_idle();
  queue.add(kA);
  queue.add(kA);
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("a@0"));
  EXPECT_FALSE(queue.idle());
  outcome = Outcome::Done;
  open.front()(Outcome::Done);
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("a@0", "a@0"));
  EXPECT_TRUE(queue.idle());
}

TEST_F(WorkQueueTest, OneKeyAtATimeUnlessThereAreMoreWorkers) {
  outcome.reset();
  queue.add(kA);
  queue.add(kB);
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("a@0"));
  open.front()(Outcome::Done);
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("a@0", "b@0"));

  runs.clear();
  WorkQueue wide(loop, note(), {.workers = 2});
  wide.add(kA);
  wide.add(kB);
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("a@0", "b@0"));
}

TEST_F(WorkQueueTest, FailuresBackOffByDoubling) {
  outcome = Outcome::Retry;
  queue.add(kA);
  run_for(Duration::millis(160));
  EXPECT_THAT(runs, ElementsAre("a@0", "a@5", "a@15", "a@35", "a@75", "a@155"));
  EXPECT_EQ(queue.failures(kA), 6);
  outcome = Outcome::Done;
  EXPECT_TRUE(loop.run_to_idle());
  EXPECT_EQ(queue.failures(kA), 0);
}

TEST_F(WorkQueueTest, TheBackoffIsCapped) {
  outcome = Outcome::Retry;
  WorkQueue capped(
      loop, note(),
      {.first_backoff = Duration::seconds(1), .longest_backoff = Duration::seconds(3)});
  capped.add(kA);
  run_for(Duration::seconds(10));
  EXPECT_THAT(runs, ElementsAre("a@0", "a@1000", "a@3000", "a@6000", "a@9000"));
}

TEST_F(WorkQueueTest, WaitsForTheEarliestOfItsDelays) {
  queue.add_after(kA, Duration::millis(30));
  queue.add_after(kA, Duration::millis(10));
  queue.add_after(kA, Duration::millis(20));
  queue.add_after(kB, Duration());
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("b@0", "a@10"));
}

TEST_F(WorkQueueTest, AddingNowKeepsWhatWaits) {
  queue.add_after(kA, Duration::millis(30));
  queue.add(kA);
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("a@0", "a@30"));
}

TEST_F(WorkQueueTest, ForgettingDropsTheWait) {
  outcome = Outcome::Retry;
  queue.add(kA);
  run_for(Duration::millis(1));
  queue.forget(kA);
  EXPECT_EQ(loop.pending(), 0u);
  EXPECT_EQ(queue.failures(kA), 0);
  EXPECT_TRUE(queue.idle());
}

TEST_F(WorkQueueTest, ADestroyedQueueLeavesNothingBehind) {
  outcome.reset();
  auto doomed = std::make_unique<WorkQueue>(loop, note());
  doomed->add(kA);
  loop.run_to_idle();
  doomed->add_after(kB, Duration::seconds(5));
  doomed->add(kB);
  doomed.reset();
  open.front()(Outcome::Retry);
  loop.run_to_idle();
  EXPECT_THAT(runs, ElementsAre("a@0"));
  EXPECT_EQ(loop.now(), TimePoint());
}

TEST_F(WorkQueueTest, FinishingTwiceIsHarmless) {
  outcome.reset();
  queue.add(kA);
  loop.run_to_idle();
  const auto finish = open.front();
  finish(Outcome::Done);
  finish(Outcome::Retry);
  loop.run_to_idle();
  EXPECT_TRUE(queue.idle());
}

/// Whatever is added is worked on after it was added, never twice at once, and the queue comes to
/// rest.
TEST_F(WorkQueueTest, NoAddIsLostAndNoKeyRunsTwiceAtOnce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    VirtualLoop turns{TimePoint()};
    std::map<api::Key, int> running;
    std::map<api::Key, TimePoint> added;
    std::map<api::Key, TimePoint> started;
    std::optional<WorkQueue> busy;
    busy.emplace(
        turns,
        [&](const api::Key& key, WorkQueue::Finish finish) {
          ASSERT_EQ(++running[key], 1) << "seed " << seed;
          started[key] = turns.now();
          turns.after(Duration::millis(rng.between(0, 20)), [&running, &rng, key, finish] {
            --running[key];
            finish(rng.chance(1, 4) ? Outcome::Retry : Outcome::Done);
          });
        },
        WorkQueue::Options{.workers = 1 + rng.below(3)});
    for (int i = 0; i < 60; ++i) {
      const api::Key key{"ns", fmt::format("k{}", rng.below(5))};
      turns.after(Duration::millis(rng.between(0, 200)), [&, key] {
        added[key] = turns.now();
        if (rng.chance(1, 3)) {
          busy->add_after(key, Duration::millis(rng.between(0, 30)));
        } else {
          busy->add(key);
        }
      });
    }
    ASSERT_TRUE(turns.run_to_idle(100'000)) << "seed " << seed;
    EXPECT_TRUE(busy->idle()) << "seed " << seed;
    for (const auto& [key, when] : added) {
      EXPECT_GE(started[key], when) << "seed " << seed << " key " << key.name;
    }
  }
}

} // namespace
} // namespace berth::client
