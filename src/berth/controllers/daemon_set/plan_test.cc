#include "berth/controllers/daemon_set/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePoint kNow = TimePoint::from_unix_seconds(1'000'000);

DaemonNode good(const std::string& name) {
  return {.name = name, .should_run = true, .may_stay = true};
}
DaemonPod serving(const std::string& node, bool current) {
  return {.name = node + (current ? "-new" : "-old"),
          .uid = node,
          .node = node,
          .bound = true,
          .ready = true,
          .current = current,
          .ready_since = kNow - Duration::minutes(1),
          .created = kNow - Duration::hours(current ? 1 : 2)};
}
DaemonPod waiting(const std::string& node, bool current) {
  DaemonPod pod = serving(node, current);
  pod.ready = false;
  return pod;
}
std::vector<std::string> removed(const DaemonPlan& plan) {
  std::vector<std::string> names;
  for (const DaemonPod& pod : plan.remove) {
    names.push_back(pod.name);
  }
  return names;
}
DaemonQuestion question(std::vector<DaemonNode> nodes, std::vector<DaemonPod> pods) {
  return {.min_ready = {}, .nodes = std::move(nodes), .pods = std::move(pods), .now = kNow};
}

TEST(PlanDaemons, EveryNodeThatShouldHasOne) {
  DaemonNode tainted = good("c");
  tainted.should_run = false;
  const auto plan = plan_daemons(question({good("a"), good("b"), tainted}, {serving("a", true)}));
  EXPECT_THAT(plan.create_on, ElementsAre("b"));
  EXPECT_EQ(plan.status.desired, 2);
  EXPECT_EQ(plan.status.current, 1);
  EXPECT_EQ(plan.status.available, 1);
}

TEST(PlanDaemons, ATaintThatKeepsAwayEndsNone) {
  const DaemonNode stays{.name = "a", .should_run = false, .may_stay = true};
  const DaemonNode goes{.name = "b", .should_run = false, .may_stay = false};
  const auto plan = plan_daemons(question({stays, goes}, {serving("a", true), serving("b", true)}));
  EXPECT_THAT(removed(plan), ElementsAre("b-new"));
  EXPECT_EQ(plan.status.misscheduled, 2);
}

TEST(PlanDaemons, EndedPodsAreReplacedUnlessSpared) {
  DaemonPod failed = waiting("a", true);
  failed.failed = true;
  DaemonPod spared = waiting("b", true);
  spared.failed = spared.spared = true;
  DaemonPod done = waiting("c", true);
  done.succeeded = true;
  const auto plan =
      plan_daemons(question({good("a"), good("b"), good("c")}, {failed, spared, done}));
  EXPECT_THAT(removed(plan), ElementsAre("a-new", "c-new"));
  EXPECT_THAT(plan.create_on, IsEmpty()) << "a place is free when its pod is gone";
}

TEST(PlanDaemons, OfTwoTheOldestStays) {
  DaemonPod second = serving("a", true);
  second.name = "second";
  second.created = kNow;
  const auto plan = plan_daemons(question({good("a")}, {second, serving("a", true)}));
  EXPECT_THAT(removed(plan), ElementsAre("second"));
}

TEST(PlanDaemons, PodsForNodesThatAreGoneGo) {
  DaemonPod unbound = waiting("gone", true);
  unbound.bound = false;
  EXPECT_THAT(removed(plan_daemons(question({}, {unbound, serving("other", true)}))),
              ElementsAre("gone-new"));
}

TEST(PlanDaemons, RollsOutAsFarAsMayBeUnavailable) {
  auto asked = question({good("a"), good("b"), good("c")},
                        {serving("a", false), serving("b", false), serving("c", false)});
  asked.max_unavailable = 2;
  EXPECT_THAT(removed(plan_daemons(asked)), ElementsAre("a-old", "b-old"));
  asked.pods = {waiting("a", true), serving("b", false), serving("c", false)};
  EXPECT_THAT(removed(plan_daemons(asked)), ElementsAre("b-old"));
  asked.pods[1] = waiting("b", false);
  EXPECT_THAT(removed(plan_daemons(asked)), ElementsAre("b-old")) << "it serves nobody";
  asked.strategy = DaemonStrategy::OnDelete;
  EXPECT_THAT(removed(plan_daemons(asked)), IsEmpty());
}

TEST(PlanDaemons, SurgesBesideTheOldOnes) {
  auto asked = question({good("a"), good("b")}, {serving("a", false), serving("b", false)});
  asked.max_surge = 1;
  asked.max_unavailable = 0;
  auto plan = plan_daemons(asked);
  EXPECT_THAT(plan.create_on, ElementsAre("a"));
  EXPECT_THAT(removed(plan), IsEmpty());
  asked.pods.push_back(waiting("a", true));
  plan = plan_daemons(asked);
  EXPECT_THAT(plan.create_on, IsEmpty());
  EXPECT_THAT(removed(plan), IsEmpty());
  asked.pods.back() = serving("a", true);
  EXPECT_THAT(removed(plan_daemons(asked)), ElementsAre("a-old"));
}

TEST(PlanDaemons, AvailabilityTakesItsTime) {
  auto asked = question({good("a")}, {serving("a", true)});
  asked.min_ready = Duration::minutes(3);
  const auto plan = plan_daemons(asked);
  EXPECT_EQ(plan.status.ready, 1);
  EXPECT_EQ(plan.status.available, 0);
  EXPECT_EQ(plan.wake, kNow + Duration::minutes(2));
}

} // namespace
} // namespace berth::controllers
