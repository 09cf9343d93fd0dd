#include "berth/controllers/deployment/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace berth::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RolloutSet set(const std::string& name, std::int64_t wanted, std::int64_t available,
               std::int64_t revision) {
  return {.name = name,
          .wanted = wanted,
          .replicas = wanted,
          .ready = available,
          .available = available,
          .revision = revision,
          .created = TimePoint::from_unix_seconds(revision)};
}
RolloutSet current(const std::string& name, std::int64_t wanted, std::int64_t available,
                   std::int64_t revision) {
  RolloutSet made = set(name, wanted, available, revision);
  made.current = true;
  return made;
}
std::map<std::string, std::int64_t> scaled(const RolloutPlan& plan) {
  std::map<std::string, std::int64_t> to;
  for (const RolloutScale& one : plan.scale) {
    to[one.name] = one.to;
  }
  return to;
}

TEST(PlanRollout, TheFirstSetIsMadeWhole) {
  const auto plan = plan_rollout({.wanted = 3, .max_surge = 1, .max_unavailable = 0, .sets = {}});
  EXPECT_EQ(plan.create, 3);
  EXPECT_EQ(plan.revision, 1);
}

TEST(PlanRollout, ANewTemplateBeginsWithTheSurge) {
  const auto plan = plan_rollout(
      {.wanted = 4, .max_surge = 1, .max_unavailable = 1, .sets = {set("old", 4, 4, 1)}});
  EXPECT_EQ(plan.create, 1);
  EXPECT_EQ(plan.revision, 2);
}

TEST(PlanRollout, OldPodsGoAsFarAsEnoughAreAvailable) {
  const auto plan = plan_rollout({.wanted = 4,
                                  .max_surge = 1,
                                  .max_unavailable = 1,
                                  .sets = {set("old", 4, 4, 1), current("new", 1, 0, 2)}});
  EXPECT_EQ(scaled(plan), (std::map<std::string, std::int64_t>{{"old", 3}}));
}

TEST(PlanRollout, PodsThatServeNobodyGoFirst) {
  const auto plan = plan_rollout(
      {.wanted = 4,
       .max_surge = 1,
       .max_unavailable = 0,
       .sets = {set("broken", 2, 0, 1), set("old", 2, 2, 2), current("new", 1, 1, 3)}});
  EXPECT_EQ(scaled(plan), (std::map<std::string, std::int64_t>{{"broken", 1}}));
}

TEST(PlanRollout, RecreateWaitsForTheOldPodsToEnd) {
  RolloutQuestion question{
      .wanted = 2, .strategy = RolloutStrategy::Recreate, .sets = {set("old", 2, 2, 1)}};
  EXPECT_EQ(scaled(plan_rollout(question)), (std::map<std::string, std::int64_t>{{"old", 0}}));
  question.sets = {set("old", 0, 0, 1)};
  question.sets[0].replicas = 1;
  EXPECT_EQ(plan_rollout(question).create, std::nullopt);
  question.sets[0].replicas = 0;
  EXPECT_EQ(plan_rollout(question).create, 2);
}

TEST(PlanRollout, ARollbackMakesAnOldSetTheNewest) {
  const auto plan = plan_rollout({.wanted = 1,
                                  .max_surge = 1,
                                  .max_unavailable = 0,
                                  .sets = {current("first", 0, 0, 1), set("second", 1, 1, 2)}});
  EXPECT_EQ(plan.revision, 3);
  EXPECT_EQ(scaled(plan), (std::map<std::string, std::int64_t>{{"first", 1}}));
}

TEST(PlanRollout, HistoryBeyondTheLimitIsForgotten) {
  const auto plan = plan_rollout(
      {.wanted = 1,
       .max_surge = 1,
       .max_unavailable = 0,
       .history = 1,
       .sets = {set("a", 0, 0, 1), set("b", 0, 0, 2), set("c", 0, 0, 3), current("d", 1, 1, 4)}});
  EXPECT_THAT(plan.remove, ElementsAre("a", "b"));
  EXPECT_THAT(plan.scale, IsEmpty());
}

TEST(PlanRollout, APausedOneOnlyFollowsItsSize) {
  const auto plan = plan_rollout({.wanted = 5,
                                  .max_surge = 1,
                                  .max_unavailable = 0,
                                  .paused = true,
                                  .sets = {set("old", 3, 3, 1)}});
  EXPECT_EQ(scaled(plan), (std::map<std::string, std::int64_t>{{"old", 5}}));
  EXPECT_EQ(plan.create, std::nullopt);
}

/// Every step keeps the bounds, and the rollout ends.
TEST(PlanRollout, EveryRolloutEndsWithinItsBounds) {
  for (std::int64_t wanted = 1; wanted <= 6; ++wanted) {
    for (std::int64_t surge = 0; surge <= 3; ++surge) {
      for (std::int64_t unavailable = surge == 0 ? 1 : 0; unavailable <= wanted; ++unavailable) {
        std::vector<RolloutSet> sets = {set("old", wanted, wanted, 1)};
        int steps = 0;
        for (; steps < 100; ++steps) {
          const auto plan = plan_rollout(
              {.wanted = wanted, .max_surge = surge, .max_unavailable = unavailable, .sets = sets});
          if (!plan.create && plan.scale.empty()) {
            bool moved = false; // a new pod becomes available
            for (RolloutSet& one : sets) {
              if (one.available < one.wanted) {
                ++one.available;
                moved = true;
                break;
              }
            }
            if (!moved) {
              break;
            }
            continue;
          }
          if (plan.create) {
            sets.push_back(current("new", *plan.create, 0, 2));
          }
          for (const RolloutScale& change : plan.scale) {
            for (RolloutSet& one : sets) {
              if (one.name == change.name) {
                one.wanted = one.replicas = change.to;
                one.available = std::min(one.available, change.to);
              }
            }
          }
          std::int64_t pods = 0;
          std::int64_t serving = 0;
          for (const RolloutSet& one : sets) {
            pods += one.wanted;
            serving += one.available;
          }
          EXPECT_LE(pods, wanted + surge);
          EXPECT_GE(serving, wanted - unavailable);
        }
        EXPECT_LT(steps, 100);
        ASSERT_EQ(sets.size(), 2U);
        EXPECT_EQ(sets[0].wanted, 0);
        EXPECT_EQ(sets[1].available, wanted);
      }
    }
  }
}

} // namespace
} // namespace berth::controllers
