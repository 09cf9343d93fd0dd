// Filters that depend on the node's object alone: NodeName, NodeUnschedulable, TaintToleration, and
// their reasons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::NodeBuilder;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::Pair;

struct FilterCase {
  std::string name;
  Profile profile;
  NodeBuilder node;
  PodBuilder pod;
  std::string want; // "ok", or code and reasons
};

void PrintTo(const FilterCase& c, std::ostream* out) {
  *out << c.name;
}

class NodeStaticFilter : public testing::TestWithParam<FilterCase> {};

TEST_P(NodeStaticFilter, GivesTheVerdict) {
  const FilterCase& c = GetParam();
  SchedulingWorld world(c.profile);
  world.with(c.node);
  EXPECT_THAT(world.verdicts(c.pod), ElementsAre(Pair("n", c.want)));
}

const char* const kCordoned = "UnschedulableAndUnresolvable: node(s) were unschedulable";
const char* const kOtherNode =
    "UnschedulableAndUnresolvable: node(s) didn't match the requested node name";
const char* const kTainted = "UnschedulableAndUnresolvable: node(s) had untolerated taint(s)";
const char* const kTaintedBefore134 =
    "UnschedulableAndUnresolvable: node(s) had untolerated taint {gpu: a100}";
const char* const kTaintedNoValue =
    "UnschedulableAndUnresolvable: node(s) had untolerated taint {gpu: }";

INSTANTIATE_TEST_SUITE_P(
    NodeUnschedulable, NodeStaticFilter,
    testing::Values(
        FilterCase{"OpenNode", profile_of("NodeUnschedulable"), node("n"), pod("p"), "ok"},
        FilterCase{"CordonedNode", profile_of("NodeUnschedulable"), node("n").unschedulable(),
                   pod("p"), kCordoned},
        FilterCase{"CordonTolerated", profile_of("NodeUnschedulable"), node("n").unschedulable(),
                   pod("p").tolerates("node.kubernetes.io/unschedulable"), "ok"},
        FilterCase{"EverythingTolerated", profile_of("NodeUnschedulable"),
                   node("n").unschedulable(), pod("p").tolerates_everything(), "ok"},
        FilterCase{"OtherTaintTolerated", profile_of("NodeUnschedulable"),
                   node("n").unschedulable(), pod("p").tolerates("gpu"), kCordoned},
        FilterCase{
            "WrongEffectTolerated", profile_of("NodeUnschedulable"), node("n").unschedulable(),
            pod("p").tolerates("node.kubernetes.io/unschedulable", "", "NoExecute"), kCordoned}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(NodeName, NodeStaticFilter,
                         testing::Values(FilterCase{"NoName", profile_of("NodeName"), node("n"),
                                                    pod("p"), "ok"},
                                         FilterCase{"SameName", profile_of("NodeName"), node("n"),
                                                    pod("p").on_node("n"), "ok"},
                                         FilterCase{"OtherName", profile_of("NodeName"), node("n"),
                                                    pod("p").on_node("m"), kOtherNode}),
                         [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    TaintToleration, NodeStaticFilter,
    testing::Values(
        FilterCase{"NoTaint", profile_of("TaintToleration"), node("n"), pod("p"), "ok"},
        FilterCase{"NoSchedule", profile_of("TaintToleration"),
                   node("n").taint("gpu", "NoSchedule"), pod("p"), kTainted},
        FilterCase{"NoExecute", profile_of("TaintToleration"), node("n").taint("gpu", "NoExecute"),
                   pod("p"), kTainted},
        FilterCase{"PreferNoScheduleDoesNotFilter", profile_of("TaintToleration"),
                   node("n").taint("gpu", "PreferNoSchedule"), pod("p"), "ok"},
        FilterCase{"Exists", profile_of("TaintToleration"),
                   node("n").taint("gpu", "NoSchedule", "a100"), pod("p").tolerates("gpu"), "ok"},
        FilterCase{"EqualValue", profile_of("TaintToleration"),
                   node("n").taint("gpu", "NoSchedule", "a100"),
                   pod("p").tolerates("gpu", "a100", "NoSchedule"), "ok"},
        FilterCase{"OtherValue", profile_of("TaintToleration"),
                   node("n").taint("gpu", "NoSchedule", "a100"),
                   pod("p").tolerates("gpu", "h100", "NoSchedule"), kTainted},
        FilterCase{"AnyEffect", profile_of("TaintToleration"),
                   node("n").taint("gpu", "NoExecute", "a100"),
                   pod("p").tolerates("gpu", "a100", ""), "ok"},
        FilterCase{"OtherEffect", profile_of("TaintToleration"),
                   node("n").taint("gpu", "NoExecute", "a100"),
                   pod("p").tolerates("gpu", "a100", "NoSchedule"), kTainted},
        FilterCase{"OneOfTwoTolerated", profile_of("TaintToleration"),
                   node("n").taint("gpu", "NoSchedule").taint("team", "NoSchedule"),
                   pod("p").tolerates("gpu"), kTainted},
        FilterCase{"WordingBefore134", profile_of("TaintToleration", nullptr, {.minor = 33}),
                   node("n").taint("gpu", "NoSchedule", "a100"), pod("p"), kTaintedBefore134},
        FilterCase{"WordingBefore134WithoutValue",
                   profile_of("TaintToleration", nullptr, {.minor = 33}),
                   node("n").taint("gpu", "NoSchedule"), pod("p"), kTaintedNoValue}),
    [](const auto& each) { return each.param.name; });

TEST(TaintToleration, OldWordingCountsEachTaintByItself) {
  SchedulingWorld world(profile_of("TaintToleration", nullptr, {.minor = 33}));
  world.with(node("a").taint("gpu", "NoSchedule", "x"))
      .with(node("b").taint("gpu", "NoSchedule", "y"));
  world.with(node("c").taint("gpu", "NoSchedule", "x"));
  EXPECT_EQ(world.decide(pod("p")).message,
            "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: y}, "
            "2 node(s) had untolerated taint {gpu: x}.");
}

TEST(TaintToleration, FewerUntoleratedSoftTaintsScoreHigher) {
  SchedulingWorld world(profile_of("TaintToleration"));
  world.with(node("clean"));
  world.with(node("one").taint("a", "PreferNoSchedule"));
  world.with(node("two").taint("a", "PreferNoSchedule").taint("b", "PreferNoSchedule"));
  EXPECT_THAT(world.scores(pod("p"), "TaintToleration"),
              ElementsAre(Pair("clean", 100), Pair("one", 50), Pair("two", 0)));
}

TEST(TaintToleration, HardTolerationsDoNotCountForSoftTaints) {
  SchedulingWorld world(profile_of("TaintToleration"));
  world.with(node("clean")).with(node("soft").taint("a", "PreferNoSchedule", "x"));
  EXPECT_THAT(world.scores(pod("p").tolerates("a", "x", "NoSchedule"), "TaintToleration"),
              ElementsAre(Pair("clean", 100), Pair("soft", 0)));
  EXPECT_THAT(world.scores(pod("q").tolerates("a", "x", "PreferNoSchedule"), "TaintToleration"),
              ElementsAre(Pair("clean", 100), Pair("soft", 100)));
}

TEST(NodeUnschedulable, IsWokenByUncordonAndByItsOwnToleration) {
  SchedulingWorld world(profile_of("NodeUnschedulable"));
  const auto waiting = world.describe(pod("p"));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint("NodeUnschedulable", *waiting, event);
  };
  EXPECT_EQ(hint(node_updated(node("n").unschedulable().build(), node("n").build())), Hint::Queue);
  EXPECT_EQ(hint(node_added(node("n").unschedulable().build())), Hint::Skip);
  EXPECT_EQ(hint(node_updated(node("n").build(), node("n").label("a", "b").build())), Hint::Skip);
  const auto tolerant = world.describe(pod("p").tolerates_everything());
  EXPECT_EQ(hint(unscheduled_pod_updated(waiting, tolerant)), Hint::Queue);
  const auto other = world.describe(pod("other").tolerates_everything());
  EXPECT_EQ(hint(unscheduled_pod_updated(world.describe(pod("other")), other)), Hint::Skip);
}

TEST(TaintToleration, IsWokenOnlyByNodesItTolerates) {
  SchedulingWorld world(profile_of("TaintToleration"));
  const auto waiting = world.describe(pod("p").tolerates("gpu"));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint("TaintToleration", *waiting, event);
  };
  EXPECT_EQ(hint(node_added(node("n").taint("gpu", "NoSchedule").build())), Hint::Queue);
  EXPECT_EQ(hint(node_added(node("n").taint("team", "NoSchedule").build())), Hint::Skip);
  EXPECT_EQ(hint(node_updated(node("n").taint("team", "NoSchedule").build(), node("n").build())),
            Hint::Queue);
}

TEST(NodeName, IsWokenByThatNodeOnly) {
  SchedulingWorld world(profile_of("NodeName"));
  const auto waiting = world.describe(pod("p").on_node("n"));
  EXPECT_EQ(world.framework().hint("NodeName", *waiting, node_added(node("n").build())),
            Hint::Queue);
  EXPECT_EQ(world.framework().hint("NodeName", *waiting, node_added(node("m").build())),
            Hint::Skip);
}

} // namespace
} // namespace berth::sched
