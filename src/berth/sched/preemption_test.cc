#include "berth/sched/preemption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/plugins/default_preemption.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::json_of;
using test::node;
using test::pod;
using test::PodBuilder;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::IsEmpty;

PodBuilder low(std::string_view name, int gpus, std::int64_t priority = 0) {
  return pod(name).gpus(gpus).priority(priority);
}

PodBuilder started(PodBuilder made, std::int64_t second) {
  return made.edit([&](boost::json::object& document) {
    api::object_at(document, "status")["startTime"] =
        to_rfc3339(TimePoint::from_unix_seconds(second));
  });
}

std::vector<std::string> names(const std::vector<PodPtr>& pods) {
  std::vector<std::string> out;
  for (const auto& p : pods) {
    out.push_back(p->name());
  }
  return out;
}

class Preemption : public testing::Test {
 protected:
  void gpu_nodes(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      world.with(node(name).gpus(8));
    }
  }
  void budget(std::string_view app, std::int64_t allowed,
              std::set<std::string, std::less<>> disrupted = {}) {
    world.state().set_budget(std::make_shared<const DisruptionBudget>(DisruptionBudget{
        .key = {"default", std::string(app)},
        .selector = {{{.key = "app", .op = api::Operator::In, .values = {std::string(app)}}}},
        .disruptions_allowed = allowed,
        .disrupted_pods = std::move(disrupted)}));
  }
  Decision preempt(const PodBuilder& preemptor) {
    const std::string before = world.state().dump();
    Decision decision = world.decide(preemptor);
    world.state().clear_nomination("default/" + std::string(decision.nominated_node ? "high" : ""));
    EXPECT_EQ(world.state().dump(), before) << "a dry run must leave no trace";
    return decision;
  }
  PodBuilder high(int gpus) { return pod("high").gpus(gpus).priority(1000); }
  SchedulingWorld world;
};

TEST_F(Preemption, EvictsTheLeastImportantThatMakesRoom) {
  gpu_nodes({"n"});
  world.with(low("a", 4, 10), "n").with(low("b", 2, 5), "n").with(low("c", 2, 1), "n");
  const Decision decision = preempt(high(2));
  EXPECT_THAT(names(decision.victims), ElementsAre("c"));
  EXPECT_EQ(decision.nominated_node, "n");
  EXPECT_EQ(decision.message, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
      << "a preemption that succeeds adds nothing";
}

TEST_F(Preemption, NeverEvictsEqualsOrBetters) {
  gpu_nodes({"n"});
  world.with(low("a", 8, 1000), "n");
  const Decision decision = preempt(high(1));
  EXPECT_THAT(decision.victims, IsEmpty());
  EXPECT_EQ(decision.message,
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, "
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.");
}

TEST_F(Preemption, SaysWhatRemainsWithoutTheVictims) {
  gpu_nodes({"n"});
  world.with(low("big", 6, 2000), "n")
      .with(low("small", 2), "n")
      .with(node("t").gpus(8).taint("x", "NoSchedule"));
  EXPECT_EQ(preempt(high(4)).message, "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 "
                                      "node(s) had untolerated taint(s). no new claims "
                                      "to deallocate, preemption: 0/2 nodes are available: 1 "
                                      "Insufficient nvidia.com/gpu, 1 Preemption is not "
                                      "helpful for scheduling.");
}

TEST_F(Preemption, PolicyNeverIsObeyed) {
  gpu_nodes({"n"});
  world.with(low("a", 8), "n");
  const Decision decision = preempt(high(1).preemption_policy("Never"));
  EXPECT_THAT(decision.victims, IsEmpty());
  EXPECT_EQ(decision.message,
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, "
            "preemption: not eligible due to preemptionPolicy=Never.");
}

TEST_F(Preemption, WaitsForVictimsThatAreLeaving) {
  gpu_nodes({"n"});
  auto leaving =
      low("a", 8).deleted(TimePoint::from_unix_seconds(1)).edit([](boost::json::object& document) {
        api::object_at(document, "status")["conditions"] = json_of(
            R"([{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}])");
      });
  world.with(leaving, "n");
  const Decision decision = world.decide(high(1).nominated("n"));
  EXPECT_THAT(decision.message,
              testing::EndsWith(
                  "preemption: not eligible due to a terminating pod on the nominated node."));
  EXPECT_FALSE(decision.nominated_node);
}

TEST_F(Preemption, AHopelessNominationIsCleared) {
  gpu_nodes({"n"});
  EXPECT_EQ(world.decide(high(9).nominated("n")).nominated_node, "");
}

// ---- reprieve and budgets
// -------------------------------------------------------------------------------

TEST_F(Preemption, ReprievesTheMoreImportantFirst) {
  gpu_nodes({"n"});
  world.with(started(low("old", 4), 100), "n").with(started(low("young", 4), 200), "n");
  EXPECT_THAT(names(preempt(high(4)).victims), ElementsAre("young"));
}

TEST_F(Preemption, PodsNotStartedLeaveInOrderOfArrival) {
  gpu_nodes({"n"});
  world.with(low("first", 4), "n").with(low("second", 4), "n");
  EXPECT_THAT(names(preempt(high(4)).victims), ElementsAre("first"));
}

TEST_F(Preemption, SparesWhatABudgetProtects) {
  gpu_nodes({"n"});
  budget("web", 0);
  world.with(started(low("web", 4).label("app", "web"), 200), "n")
      .with(started(low("other", 4, 50), 100), "n");
  EXPECT_THAT(names(preempt(high(4)).victims), ElementsAre("other"))
      << "although it is more important";
}

TEST_F(Preemption, BreaksABudgetRatherThanGiveUp) {
  gpu_nodes({"n"});
  budget("web", 0);
  world.with(low("web", 8).label("app", "web"), "n");
  EXPECT_THAT(names(preempt(high(4)).victims), ElementsAre("web"));
}

TEST_F(Preemption, BudgetsCountDownOverVictims) {
  gpu_nodes({"n", "m"});
  budget("web", 1);
  // Two of the budget on n (one violates), one on m.
  world.with(low("n1", 4).label("app", "web"), "n").with(low("n2", 4).label("app", "web"), "n");
  world.with(low("m1", 8, 50).label("app", "web"), "m");
  EXPECT_EQ(preempt(high(8)).nominated_node, "m") << "no violation beats lower priority";
}

TEST_F(Preemption, DisruptedPodsViolateNoMore) {
  gpu_nodes({"n", "m"});
  budget("web", 0, {"n1"});
  world.with(low("n1", 8).label("app", "web"), "n").with(low("m1", 8).label("app", "web"), "m");
  EXPECT_EQ(preempt(high(8)).nominated_node, "n");
}

TEST_F(Preemption, BudgetsOfOtherNamespacesDoNotCount) {
  gpu_nodes({"n", "m"});
  budget("web", 0);
  world.with(low("n1", 8).ns("other").label("app", "web"), "n")
      .with(low("m1", 8).label("app", "web"), "m");
  EXPECT_EQ(preempt(high(8)).nominated_node, "n");
}

// ---- which node
// -----------------------------------------------------------------------------------------

PreemptionCandidate candidate(std::uint32_t index, std::vector<PodPtr> victims,
                              std::int64_t violations = 0) {
  return {.node = NodeId(index), .victims = std::move(victims), .budget_violations = violations};
}

TEST(PickCandidate, FollowsTheOrderOfCriteria) {
  ClusterState state;
  const auto victim = [&](std::int64_t priority, std::int64_t second) {
    return state.describe(
        started(low("v" + std::to_string(priority) + "-" + std::to_string(second), 1, priority),
                second)
            .build());
  };
  const auto best = [](const std::vector<PreemptionCandidate>& candidates) {
    return pick_candidate(candidates, TimePoint()).node.index();
  };
  EXPECT_EQ(best({candidate(0, {victim(1, 1)}, 1), candidate(1, {victim(9, 1)}, 0)}), 1U)
      << "fewest violations";
  EXPECT_EQ(best({candidate(0, {victim(9, 1)}), candidate(1, {victim(5, 1), victim(5, 2)})}), 1U)
      << "lowest highest priority";
  EXPECT_EQ(best({candidate(0, {victim(5, 1), victim(4, 1)}),
                  candidate(1, {victim(5, 1), victim(3, 1)})}),
            1U)
      << "smallest sum";
  EXPECT_EQ(best({candidate(0, {victim(5, 1), victim(1, 1)}), candidate(1, {victim(5, 1)})}), 1U)
      << "fewest victims";
  EXPECT_EQ(best({candidate(0, {victim(5, 100)}), candidate(1, {victim(5, 200)})}), 1U)
      << "latest start";
  EXPECT_EQ(best({candidate(0, {victim(5, 100)}), candidate(1, {victim(5, 100)})}), 0U)
      << "first of equals";
}

TEST(PickCandidate, NegativePrioritiesDoNotMakeMoreVictimsCheaper) {
  ClusterState state;
  const auto victim = [&](std::string_view name) {
    return state.describe(started(low(name, 1, -10), 1).build());
  };
  const std::vector<PreemptionCandidate> candidates = {candidate(0, {victim("a"), victim("b")}),
                                                       candidate(1, {victim("c")})};
  EXPECT_EQ(pick_candidate(candidates, TimePoint()).node.index(), 1U);
}

// ---- nominations
// ----------------------------------------------------------------------------------------

TEST_F(Preemption, LowerPriorityNominationsOnTheNodeEnd) {
  gpu_nodes({"n"});
  world.with(low("a", 8), "n");
  world.state().nominate(world.describe(low("mid", 4, 500)), "n");
  const Decision decision = world.decide(high(8));
  EXPECT_THAT(names(decision.denominated), ElementsAre("mid"));
  EXPECT_EQ(world.state().nominated_node("default/mid"), "");
  EXPECT_EQ(world.state().nominated_node("default/high"), "n");
}

TEST_F(Preemption, NominatedPodsHoldTheirRoomAgainstLowerOnes) {
  gpu_nodes({"n"});
  world.state().nominate(world.describe(pod("waiting").gpus(8).priority(100)), "n");
  EXPECT_FALSE(world.decide(pod("lower").gpus(1).priority(50)).placed());
  EXPECT_FALSE(world.decide(pod("equal").gpus(1).priority(100)).placed());
  EXPECT_TRUE(world.decide(pod("higher").gpus(1).priority(101)).placed());
}

// ---- args
// -----------------------------------------------------------------------------------------------

TEST(DefaultPreemptionArgs, AreValidated) {
  EXPECT_EQ(parse_default_preemption_args(nullptr)->min_candidate_nodes_absolute, 100);
  EXPECT_EQ(parse_default_preemption_args(json_of(R"({"minCandidateNodesPercentage": 50})"))
                ->min_candidate_nodes_percentage,
            50);
  EXPECT_FALSE(parse_default_preemption_args(json_of(R"({"minCandidateNodesPercentage": 101})")));
  EXPECT_FALSE(parse_default_preemption_args(json_of(R"({"minCandidateNodesAbsolute": -1})")));
  EXPECT_FALSE(parse_default_preemption_args(
      json_of(R"({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0})")));
}

TEST_F(Preemption, ASearchMayStopEarly) {
  Profile profile = default_profile();
  for (auto& plugin : profile.plugins) {
    if (plugin.name == kDefaultPreemption) {
      plugin.args =
          json_of(R"({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1})");
    }
  }
  SchedulingWorld quick(profile);
  for (int i = 0; i < 20; ++i) {
    quick.with(node("n" + std::to_string(i)).gpus(8));
    quick.with(low("v" + std::to_string(i), 8, i), "n" + std::to_string(i));
  }
  const Decision one = quick.decide(high(8));
  ASSERT_EQ(one.victims.size(), 1U) << "some node, not necessarily the cheapest";
  quick.state().clear_nomination("default/high");
  EXPECT_EQ(quick.decide(high(8)).nominated_node, one.nominated_node) << "the same every time";
}

} // namespace
} // namespace berth::sched
