#include "berth/gang/preempt_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/gang/choose_domain.h"
#include "berth/gang/preemption_fixture.h"

namespace berth::gang {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class PreemptGroupTest : public testing::Test {
 protected:
  static test::PodBuilder pod(std::string_view name, int gpus) {
    return PreemptionWorld::pod(name, gpus);
  }
  /// Names of who is evicted, sorted; "none" where there is no plan.
  std::vector<std::string> evicted(const std::vector<sched::PodPtr>& pending) {
    const std::string before = world.state().dump();
    const GroupPreemption found = world.plan(pending);
    EXPECT_EQ(world.state().dump(), before) << "a plan leaves no trace";
    return found.plan ? PreemptionWorld::names(found.plan->victims())
                      : std::vector<std::string>{"none"};
  }

  PreemptionWorld world;
};

// ---- the whole group or nobody

TEST_F(PreemptGroupTest, EvictsOnSeveralNodesInOneDecision) {
  world.nodes({"n1", "n2", "n3"}).group("big", 3);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n2").runs(pod("c", 8), "n3");
  const GroupPreemption found = world.plan(world.gang("big", 3, 8));
  ASSERT_TRUE(found.plan);
  EXPECT_THAT(PreemptionWorld::names(found.plan->victims()), ElementsAre("a", "b", "c"));
  ASSERT_THAT(found.plan->rooms, SizeIs(3));
  std::vector<std::string> nodes;
  for (const PreemptionPlan::Room& room : found.plan->rooms) {
    nodes.push_back(room.node);
  }
  EXPECT_THAT(nodes, testing::UnorderedElementsAre("n1", "n2", "n3"));
}

TEST_F(PreemptGroupTest, EvictsNobodyForAGroupThatWouldNotFitWhole) {
  world.nodes({"n1", "n2"}).group("big", 3);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n2");
  const auto pending = world.gang("big", 3, 8);
  EXPECT_THAT(evicted(pending), ElementsAre("none"));
  const GroupDecision decision = world.decide(pending);
  for (const MemberDecision& member : decision.members) {
    EXPECT_THAT(member.decision.victims, IsEmpty());
    EXPECT_FALSE(member.decision.nominated_node);
    EXPECT_THAT(member.decision.message, HasSubstr(kGroupInVain));
  }
}

TEST_F(PreemptGroupTest, UsesFreeRoomFirst) {
  world.nodes({"n1", "n2", "n3"}).group("big", 2);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n3");
  EXPECT_THAT(evicted(world.gang("big", 2, 8)), ElementsAre("a"));
}

TEST_F(PreemptGroupTest, MakesRoomForTheQuorumOnly) {
  world.nodes({"n1", "n2", "n3"}).group("big", 2);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n2").runs(pod("c", 8), "n3");
  EXPECT_THAT(evicted(world.gang("big", 3, 8)), SizeIs(2));
}

TEST_F(PreemptGroupTest, CountsMembersThatRun) {
  world.nodes({"n1", "n2"}).group("big", 2);
  world.runs(pod("big-x", 8).in_group("big").priority(100), "n1").runs(pod("a", 8), "n2");
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("a"));
}

TEST_F(PreemptGroupTest, SparesItsOwnMembers) {
  world.nodes({"n1"}).group("big", 2);
  world.runs(pod("big-x", 8).in_group("big").priority(1), "n1");
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("none"));
}

struct MixedCase {
  const char* name;
  int launcher_cpu;
  std::vector<std::string> want;
};
class MixedGroup : public PreemptGroupTest, public testing::WithParamInterface<MixedCase> {};

// A launcher without GPUs beside the workers: it may need an eviction of its own.
TEST_P(MixedGroup, MakesRoomForEveryShape) {
  world.nodes({"n1", "n2"}).group("big", 3);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n2");
  world.with(PreemptionWorld::node("cpu", 0)).runs(pod("c", 0).cpu("40"), "cpu");
  std::vector<sched::PodPtr> pending = world.gang("big", 2, 8);
  pending.push_back(world.waits(pod("launcher", 0)
                                    .cpu(std::to_string(GetParam().launcher_cpu))
                                    .priority(100)
                                    .in_group("big")));
  EXPECT_THAT(evicted(pending), testing::ElementsAreArray(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(Launchers, MixedGroup,
                         testing::Values(MixedCase{"small", 2, {"a", "b"}},
                                         MixedCase{"as_large_as_a_node", 64, {"a", "b", "c"}},
                                         MixedCase{"larger_than_any_node", 65, {"none"}}),
                         [](const auto& one) { return std::string(one.param.name); });

// ---- topology domains

TEST_F(PreemptGroupTest, KeepsToARequiredTopology) {
  for (const auto& [name, rack] :
       {std::pair("n1", "r1"), {"n2", "r2"}, {"n3", "r2"}, {"n4", "r1"}}) {
    world.with(PreemptionWorld::node(name).label("rack", rack));
  }
  world.group("big", 2);
  // The cheapest two nodes are in two racks.
  world.runs(pod("a", 8).priority(1), "n1").runs(pod("b", 8).priority(1), "n2");
  world.runs(pod("c", 8).priority(50), "n3").runs(pod("d", 8).priority(90), "n4");
  std::vector<sched::PodPtr> pending;
  for (const char* name : {"w0", "w1"}) {
    pending.push_back(world.waits(pod(name, 8).priority(100).in_group("big").annotation(
        std::string(kRequiredTopology), "rack")));
  }
  EXPECT_THAT(evicted(pending), ElementsAre("b", "c"));
  EXPECT_THAT(evicted(world.group("free", 2).gang("free", 2, 8)), ElementsAre("a", "b"));
}

TEST_F(PreemptGroupTest, EvictsNobodyWhereNoDomainCouldHoldTheGroup) {
  world.with(PreemptionWorld::node("n1").label("rack", "r1"));
  world.with(PreemptionWorld::node("n2").label("rack", "r2")).group("big", 2);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n2");
  std::vector<sched::PodPtr> pending;
  for (const char* name : {"w0", "w1"}) {
    pending.push_back(world.waits(pod(name, 8).priority(100).in_group("big").annotation(
        std::string(kRequiredTopology), "rack")));
  }
  EXPECT_THAT(evicted(pending), ElementsAre("none"));
}

// ---- groups as victims

TEST_F(PreemptGroupTest, AGroupThatBreaksGoesFromAllOfItsNodes) {
  world.nodes({"n1", "n2", "n3"}).group("big", 1).group("low", 2);
  world.runs(pod("low-0", 8).in_group("low"), "n1").runs(pod("low-1", 8).in_group("low"), "n2");
  world.runs(pod("other", 8).priority(1000), "n3");
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("low-0", "low-1"));
}

TEST_F(PreemptGroupTest, ItsOtherNodesServeTheSamePreemptor) {
  world.nodes({"n1", "n2", "n3"}).group("big", 2).group("low", 2);
  world.runs(pod("low-0", 8).in_group("low"), "n1").runs(pod("low-1", 8).in_group("low"), "n3");
  world.runs(pod("single", 8), "n2");
  // Breaking no group would take one node too few.
  EXPECT_THAT(evicted(world.gang("big", 2, 8)), ElementsAre("low-0", "low-1"));
}

TEST_F(PreemptGroupTest, BreaksFewerGroups) {
  world.nodes({"n1", "n2", "n3", "n4", "n5"}).group("big", 2);
  world.group("x", 2).group("y", 1);
  world.runs(pod("x-0", 8).in_group("x"), "n1").runs(pod("x-1", 8).in_group("x"), "n2");
  world.runs(pod("y-0", 8).in_group("y"), "n3");
  world.runs(pod("p", 8), "n4").runs(pod("q", 8), "n5");
  EXPECT_THAT(evicted(world.gang("big", 2, 8)), ElementsAre("p", "q")) << "rather than any group";
  EXPECT_THAT(evicted(world.group("huge", 4).gang("huge", 4, 8)),
              ElementsAre("p", "q", "x-0", "x-1"))
      << "rather than two groups";
}

TEST_F(PreemptGroupTest, MembersAboveTheQuorumGoSingly) {
  world.nodes({"n1", "n2", "n3"}).group("big", 1).group("low", 2);
  for (int i = 0; i < 3; ++i) {
    world.runs(pod(fmt::format("low-{}", i), 8).in_group("low").priority(i == 1 ? 0 : 5),
               fmt::format("n{}", i + 1));
  }
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("low-1"));
  EXPECT_THAT(evicted(world.group("two", 2).gang("two", 2, 8)),
              ElementsAre("low-0", "low-1", "low-2"));
}

TEST_F(PreemptGroupTest, AGroupHasThePriorityOfItsMostImportantMember) {
  world.nodes({"n1", "n2"}).group("big", 1).group("low", 2);
  world.runs(pod("low-0", 8).in_group("low"), "n1");
  world.runs(pod("low-1", 8).in_group("low").priority(100), "n2");
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("none"));
  EXPECT_THAT(evicted(world.group("top", 1).gang("top", 1, 8, 101)), ElementsAre("low-0", "low-1"));
}

TEST_F(PreemptGroupTest, PrefersAPodOfHigherPriorityToNobodyButALowerGroupToThatPod) {
  world.nodes({"n1", "n2"}).group("big", 1).group("low", 1);
  world.runs(pod("low-0", 8).in_group("low").priority(1), "n1").runs(pod("p", 8).priority(2), "n2");
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("low-0"));
}

TEST_F(PreemptGroupTest, AGroupWithoutItsQuorumIsNotRunning) {
  world.nodes({"n1", "n2"}).group("big", 1).group("broken", 4).group("whole", 1);
  world.runs(pod("broken-0", 8).in_group("broken"), "n1");
  world.runs(pod("whole-0", 8).in_group("whole"), "n2");
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("broken-0"));
}

// ---- the stock rules

TEST_F(PreemptGroupTest, EvictsOnlyLowerPriority) {
  world.nodes({"n1"}).group("big", 1).runs(pod("peer", 8).priority(100), "n1");
  EXPECT_THAT(evicted(world.gang("big", 1, 8, 100)), ElementsAre("none"));
}

TEST_F(PreemptGroupTest, TheLeastImportantMemberCounts) {
  world.nodes({"n1", "n2"}).group("big", 2).runs(pod("peer", 8).priority(50), "n1");
  std::vector<sched::PodPtr> pending = world.gang("big", 1, 8, 100);
  pending.push_back(world.waits(pod("weak", 8).priority(50).in_group("big")));
  EXPECT_THAT(evicted(pending), ElementsAre("none"));
}

TEST_F(PreemptGroupTest, BudgetsComeFirst) {
  world.nodes({"n1", "n2"}).group("big", 1).group("low", 1).budget("web", 0);
  world.runs(pod("web", 8).label("app", "web"), "n1");
  world.runs(pod("low-0", 8).in_group("low").priority(90), "n2");
  EXPECT_THAT(evicted(world.gang("big", 1, 8)), ElementsAre("low-0"));
  const GroupPreemption two = world.plan(world.group("two", 2).gang("two", 2, 8));
  ASSERT_TRUE(two.plan) << "budgets are kept where that can be, not at any price";
  EXPECT_EQ(two.plan->cost.violations, 1);
}

TEST_F(PreemptGroupTest, ABudgetIsSpentOverAllNodes) {
  world.nodes({"n1", "n2", "n3"}).group("big", 2).budget("web", 1);
  world.runs(pod("web-0", 8).label("app", "web"), "n1");
  world.runs(pod("web-1", 8).label("app", "web"), "n2");
  world.runs(pod("other", 8).priority(90), "n3");
  const GroupPreemption found = world.plan(world.gang("big", 2, 8));
  ASSERT_TRUE(found.plan);
  EXPECT_EQ(found.plan->cost.violations, 0);
  EXPECT_THAT(PreemptionWorld::names(found.plan->victims()), testing::Contains("other"));
}

TEST_F(PreemptGroupTest, NeverMeansNever) {
  world.nodes({"n1", "n2"}).group("big", 2).runs(pod("a", 8), "n1").runs(pod("b", 8), "n2");
  std::vector<sched::PodPtr> pending = world.gang("big", 1, 8);
  pending.push_back(
      world.waits(pod("shy", 8).priority(100).in_group("big").preemption_policy("Never")));
  const GroupPreemption found = world.plan(pending);
  EXPECT_FALSE(found.plan);
  EXPECT_EQ(found.reason, kGroupNever);
}

TEST_F(PreemptGroupTest, WaitsForVictimsOnTheirWayOut) {
  world.nodes({"n1", "n2"}).group("big", 2).runs(pod("b", 8), "n2");
  world.runs(PreemptionWorld::evicted(pod("a", 8)), "n1");
  const auto pending = world.gang("big", 2, 8);
  world.state().nominate(pending.front(), "n1");
  const GroupPreemption found = world.plan(pending);
  EXPECT_FALSE(found.plan);
  EXPECT_EQ(found.reason, kGroupTerminating);
  EXPECT_EQ(world.state().nominated_node(pending.front()->uid), "n1");
}

TEST_F(PreemptGroupTest, PodsThatLeaveAnywayCostNothing) {
  world.nodes({"n1", "n2"}).group("big", 1);
  world.runs(pod("leaving", 8).priority(90).deleted(TimePoint::from_unix_seconds(5)), "n1");
  world.runs(pod("staying", 8), "n2");
  const GroupPreemption found = world.plan(world.gang("big", 1, 8));
  ASSERT_TRUE(found.plan);
  EXPECT_THAT(found.plan->victims(), IsEmpty());
  EXPECT_EQ(found.plan->rooms.front().node, "n1");
}

// ---- what becomes of a plan

TEST_F(PreemptGroupTest, EveryMemberIsNominatedAndSaysWhy) {
  world.nodes({"n1", "n2"}).group("big", 2).group("low", 2);
  world.runs(pod("low-0", 8).in_group("low"), "n1").runs(pod("low-1", 8).in_group("low"), "n2");
  const auto pending = world.gang("big", 2, 8);
  const GroupDecision decision = world.decide(pending);
  EXPECT_FALSE(decision.placed);
  std::vector<sched::PodPtr> victims;
  for (const MemberDecision& member : decision.members) {
    ASSERT_TRUE(member.decision.nominated_node);
    EXPECT_EQ(world.state().nominated_node(member.pod->uid), *member.decision.nominated_node);
    EXPECT_THAT(member.decision.message,
                HasSubstr("preemption: evicting all of pod group \"default/low\" (2 pods, 16 GPUs, "
                          "priority 0) so that 2 members of pod group \"default/big\" fit at once; "
                          "the cheapest set found on 2 nodes: highest priority 0, 1 running group "
                          "broken, 16 GPUs, 0 disruption budgets violated."));
    ASSERT_THAT(member.decision.victims, SizeIs(1));
    EXPECT_EQ(member.decision.victims.front()->pod->spec.node_name,
              *member.decision.nominated_node);
    victims.push_back(member.decision.victims.front());
  }
  EXPECT_THAT(PreemptionWorld::names(victims), ElementsAre("low-0", "low-1"));
  world.end(victims);
  EXPECT_TRUE(world.decide(pending).placed) << "nominations of siblings are no hindrance";
}

TEST_F(PreemptGroupTest, AMemberBeyondTheQuorumPreemptsForItself) {
  world.nodes({"n1", "n2"}).group("big", 1).runs(pod("a", 8), "n1");
  const auto pending = world.gang("big", 2, 8);
  const GroupDecision decision = world.decide(pending);
  EXPECT_TRUE(decision.placed);
  EXPECT_EQ(decision.members.front().decision.node_name, "n2");
  EXPECT_THAT(PreemptionWorld::names(decision.members.back().decision.victims), ElementsAre("a"));
  EXPECT_EQ(decision.members.back().decision.nominated_node, "n1");
}

TEST_F(PreemptGroupTest, NominatedRoomIsNotTakenByAPeer) {
  world.nodes({"n1", "n2"}).group("first", 2).group("second", 2);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n2");
  const auto first = world.gang("first", 2, 8);
  std::vector<sched::PodPtr> victims;
  for (const MemberDecision& member : world.decide(first).members) {
    victims.insert(victims.end(), member.decision.victims.begin(), member.decision.victims.end());
  }
  EXPECT_THAT(PreemptionWorld::names(victims), ElementsAre("a", "b"));
  const auto second = world.gang("second", 2, 8);
  EXPECT_THAT(evicted(second), ElementsAre("none")) << "the room is promised";
  world.end(victims);
  EXPECT_FALSE(world.decide(second).placed);
  EXPECT_TRUE(world.decide(first).placed);
  EXPECT_THAT(evicted(second), ElementsAre("none")) << "nor may peers evict each other";
}

TEST_F(PreemptGroupTest, ALessImportantGroupLosesAllOfItsNominations) {
  world.nodes({"n1", "n2", "n3"}).group("mid", 2).group("top", 1);
  world.runs(pod("a", 8), "n1").runs(pod("b", 8), "n2").runs(pod("c", 8).priority(900), "n3");
  const auto mid = world.gang("mid", 2, 8, 100);
  world.decide(mid);
  const auto top = world.gang("top", 1, 8, 200);
  const GroupDecision decision = world.decide(top);
  EXPECT_THAT(decision.members.front().decision.victims, SizeIs(1));
  EXPECT_THAT(PreemptionWorld::names(decision.members.front().decision.denominated),
              ElementsAre("mid-0", "mid-1"));
  for (const sched::PodPtr& pod : mid) {
    EXPECT_EQ(world.state().nominated_node(pod->uid), "");
  }
}

TEST_F(PreemptGroupTest, RoomThatIsNotEnoughIsNotHeld) {
  world.nodes({"n1", "n2"}).group("big", 2).runs(pod("a", 8), "n1").runs(pod("b", 8), "n2");
  const auto pending = world.gang("big", 2, 8);
  world.decide(pending);
  world.state().remove_node("n2");
  for (const MemberDecision& member : world.decide(pending).members) {
    EXPECT_EQ(member.decision.nominated_node, "");
    EXPECT_EQ(world.state().nominated_node(member.pod->uid), "");
  }
}

TEST_F(PreemptGroupTest, WithoutThePluginNothingChanges) {
  world.nodes({"n1"}).group("big", 1).runs(pod("a", 8), "n1");
  const auto pending = world.gang("big", 1, 8);
  const auto stock = world.make_framework("DefaultPreemption");
  sched::Decider decider(*stock, world.state());
  const GroupDecision decision = place_or_preempt(decider, world.groups(), world.request(pending));
  EXPECT_THAT(decision.members.front().decision.victims, IsEmpty());
  EXPECT_THAT(decision.members.front().decision.message, testing::Not(HasSubstr("preemption")));
}

} // namespace
} // namespace berth::gang
