#include "berth/sched/plugins/capacity_scheduling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/plugins/default_preemption.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::elastic_quota;
using test::node;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

PodBuilder gpus_of(std::string_view ns, std::string_view name, int gpus) {
  return pod(name).ns(ns).gpus(gpus);
}

std::vector<std::string> names(const std::vector<PodPtr>& pods) {
  std::vector<std::string> out;
  for (const auto& p : pods) {
    out.push_back(p->ns() + "/" + p->name());
  }
  return out;
}

/// One node of 8 GPUs; "a" and "b" are guaranteed 4 each, "a" may hold 6, "b" all. "free" has no
/// quota.
class CapacityScheduling : public testing::Test {
 protected:
  CapacityScheduling() {
    world.with(node("n").gpus(8));
    world.with(
        elastic_quota("qa").ns("a").min(model::kGpuResource, "4").max(model::kGpuResource, "6"));
    world.with(elastic_quota("qb").ns("b").min(model::kGpuResource, "4"));
  }
  Decision decide(const PodBuilder& builder) { return world.decide(builder); }

  SchedulingWorld world{profile_of({{.name = "NodeResourcesFit", .weight = 1, .args = {}},
                                    {.name = "CapacityScheduling", .weight = 1, .args = {}}})};
};

TEST_F(CapacityScheduling, BorrowsWhatOthersLeaveUpToItsMax) {
  EXPECT_TRUE(decide(gpus_of("a", "p1", 4)).placed());
  EXPECT_TRUE(decide(gpus_of("a", "p2", 2)).placed()) << "2 borrowed of b's 4";
  const Decision third = decide(gpus_of("a", "p3", 1));
  EXPECT_FALSE(third.placed());
  EXPECT_THAT(third.message,
              HasSubstr("0/1 nodes are available: Pod a/p3 is rejected in PreFilter because "
                        "ElasticQuota a is more than Max"));
  EXPECT_THAT(third.unschedulable_plugins, ElementsAre("CapacityScheduling"));
}

TEST_F(CapacityScheduling, NeverBorrowsMoreThanAllAreGuaranteed) {
  world.with(node("more").gpus(8));
  EXPECT_TRUE(decide(gpus_of("b", "p1", 8)).placed());
  EXPECT_THAT(decide(gpus_of("b", "p2", 1)).message,
              HasSubstr("Pod b/p2 is rejected in PreFilter because total ElasticQuota used is more "
                        "than min"));
  EXPECT_TRUE(decide(gpus_of("free", "p3", 8)).placed()) << "no quota: not asked";
}

TEST_F(CapacityScheduling, AResourceThatMinDoesNotNameIsGuaranteedToNobody) {
  EXPECT_THAT(decide(gpus_of("a", "p", 1).cpu("1")).message,
              HasSubstr("total ElasticQuota used is more than min"));
  world.with(elastic_quota("qa").ns("a").min(model::kGpuResource, "4").min("cpu", "2"));
  EXPECT_TRUE(decide(gpus_of("a", "p", 1).cpu("2")).placed()) << "max names no cpu: no limit";
}

TEST_F(CapacityScheduling, CountsPodsThatWereThereBeforeTheQuota) {
  world.with(gpus_of("late", "p", 3), "n");
  world.with(
      elastic_quota("q").ns("late").min(model::kGpuResource, "3").max(model::kGpuResource, "4"));
  EXPECT_THAT(decide(gpus_of("late", "p2", 2)).message, HasSubstr("more than Max"));
  EXPECT_TRUE(decide(gpus_of("late", "p3", 1)).placed());
}

TEST_F(CapacityScheduling, ForgetsWhatLeft) {
  world.with(gpus_of("a", "p1", 6), "n");
  EXPECT_FALSE(decide(gpus_of("a", "p2", 2)).placed());
  world.state().remove_pod("a/p1");
  EXPECT_TRUE(decide(gpus_of("a", "p2", 2)).placed());
  world.state().remove_quota({"a", "qa"});
  EXPECT_TRUE(decide(gpus_of("a", "p3", 6)).placed()) << "no quota, no limit";
}

TEST_F(CapacityScheduling, OfSeveralQuotasTheOldestCounts) {
  world.with(elastic_quota("aa")
                 .ns("c")
                 .min(model::kGpuResource, "9")
                 .created(TimePoint::from_unix_seconds(200)));
  world.with(elastic_quota("zz")
                 .ns("c")
                 .min(model::kGpuResource, "1")
                 .max(model::kGpuResource, "1")
                 .created(TimePoint::from_unix_seconds(100)));
  EXPECT_THAT(decide(gpus_of("c", "p", 2)).message, HasSubstr("more than Max"));
  world.state().remove_quota({"c", "zz"});
  EXPECT_TRUE(decide(gpus_of("c", "p", 2)).placed());
}

TEST_F(CapacityScheduling, CountsNominatedPods) {
  world.state().nominate(world.describe(gpus_of("a", "waiting", 4).priority(10)), "n");
  EXPECT_THAT(decide(gpus_of("a", "p", 3)).message, HasSubstr("more than Max")) << "4 + 3 > 6";
  EXPECT_TRUE(decide(gpus_of("a", "q", 3).priority(20)).placed()) << "it is the more important";
}

TEST_F(CapacityScheduling, CountsNominationsOfOthersWithinTheirMin) {
  world.with(node("more").gpus(8));
  world.state().nominate(world.describe(gpus_of("a", "waiting", 2)), "n");
  EXPECT_THAT(decide(gpus_of("b", "p", 7)).message, HasSubstr("more than min")) << "2 + 7 > 8";
  EXPECT_TRUE(decide(gpus_of("b", "q", 6)).placed());
}

TEST_F(CapacityScheduling, TakesBackWhatOthersBorrowedWhateverTheirPriority) {
  world.with(gpus_of("b", "b1", 4).priority(500), "n")
      .with(gpus_of("b", "b2", 2).priority(400), "n")
      .with(gpus_of("b", "b3", 2).priority(900), "n");
  const Decision decision = decide(gpus_of("a", "p", 4));
  EXPECT_EQ(decision.nominated_node, "n");
  EXPECT_THAT(names(decision.victims), ElementsAre("b/b1"))
      << "without b2 (6 left) and b1 (2 left) b is within its min; b2 finds room again";
}

TEST_F(CapacityScheduling, LeavesTheGuaranteeOfOthersAlone) {
  world.with(gpus_of("b", "b1", 4), "n").with(gpus_of("free", "f", 2), "n");
  world.with(gpus_of("a", "a1", 2), "n");
  const Decision decision = decide(gpus_of("a", "p", 2).priority(1000));
  EXPECT_THAT(decision.victims, IsEmpty());
  EXPECT_THAT(decision.message,
              HasSubstr("preemption: 0/1 nodes are available: 1 No preemption victims found for "
                        "incoming pod."));
}

TEST_F(CapacityScheduling, BeyondItsMinANamespacePreemptsItsOwnLowerPriority) {
  world.with(gpus_of("b", "b1", 2).priority(-5), "n");
  world.with(gpus_of("a", "a1", 4).priority(1), "n").with(gpus_of("a", "a2", 2).priority(5), "n");
  const Decision decision = decide(gpus_of("a", "p", 2).priority(3));
  EXPECT_THAT(names(decision.victims), ElementsAre("a/a1"));
  EXPECT_THAT(decide(gpus_of("a", "q", 2).priority(1)).victims, IsEmpty());
}

TEST_F(CapacityScheduling, SaysWhatRemainsInTheWay) {
  world.with(gpus_of("a", "a1", 1).priority(1), "n").with(gpus_of("a", "a2", 5).priority(9), "n");
  const Decision decision = decide(gpus_of("a", "p", 2).priority(5));
  EXPECT_THAT(decision.victims, IsEmpty());
  EXPECT_THAT(decision.message, HasSubstr("1 global quota max exceeded"));
}

TEST_F(CapacityScheduling, WithoutQuotasPodsPreemptAmongThemselves) {
  world.with(gpus_of("a", "a1", 4), "n").with(gpus_of("free", "f", 4), "n");
  const Decision decision = decide(gpus_of("free", "p", 4).priority(1));
  EXPECT_THAT(names(decision.victims), ElementsAre("free/f"));
  EXPECT_THAT(decide(gpus_of("free", "q", 8).priority(1)).victims, IsEmpty());
}

TEST_F(CapacityScheduling, WhatIfLeavesNoTrace) {
  world.with(gpus_of("b", "b1", 4), "n").with(gpus_of("b", "b2", 4), "n");
  const std::string before = world.state().dump();
  const Decision decision = decide(gpus_of("a", "p", 4));
  EXPECT_THAT(decision.victims, testing::SizeIs(1));
  world.state().clear_nomination("a/p");
  EXPECT_EQ(world.state().dump(), before);
}

TEST(CapacitySchedulingEvents, WakeForRoomAndQuotas) {
  const auto plugin = make_capacity_scheduling();
  ClusterState state;
  const PodPtr waiting = state.describe(gpus_of("a", "p", 1).build());
  const PodPtr other = state.describe(gpus_of("b", "q", 1).on_node("n").build());
  EXPECT_EQ(plugin->hint(*waiting, assigned_pod_deleted(other)), Hint::Queue);
  EXPECT_EQ(plugin->hint(*waiting, quota_changed(actions::kUpdate)), Hint::Queue);
  const auto covers = [&](const ClusterEvent& event) {
    return std::ranges::any_of(plugin->events(),
                               [&](const EventInterest& i) { return i.covers(event); });
  };
  EXPECT_TRUE(covers(quota_changed(actions::kAdd)));
  EXPECT_FALSE(covers(assigned_pod_added(other)));
  EXPECT_FALSE(covers(node_added(node("n").build())));
}

} // namespace
} // namespace berth::sched
