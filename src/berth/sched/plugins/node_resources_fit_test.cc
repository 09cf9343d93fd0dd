#include "berth/sched/plugins/node_resources_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::json_of;
using test::node;
using test::NodeBuilder;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct FitCase {
  std::string name;
  PodBuilder running; // on the node already
  PodBuilder pod;
  std::string want;
};
void PrintTo(const FitCase& c, std::ostream* out) {
  *out << c.name;
}

class Fit : public testing::TestWithParam<FitCase> {};

TEST_P(Fit, OnANodeOf10CpuAnd8Gpus) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  world.with(
      node("n").cpu("10").memory("20Gi").resource("ephemeral-storage", "100Gi").gpus(8).pods(3));
  world.with(GetParam().running, "n");
  EXPECT_THAT(world.verdicts(GetParam().pod), ElementsAre(Pair("n", GetParam().want)));
}

const char* const kUnresolvable = "UnschedulableAndUnresolvable: ";

INSTANTIATE_TEST_SUITE_P(
    Rules, Fit,
    testing::Values(
        FitCase{"ExactlyFits", pod("r").cpu("4").gpus(4), pod("p").cpu("6").gpus(4), "ok"},
        FitCase{"OneMilliTooMuch", pod("r").cpu("4").gpus(4), pod("p").cpu("6001m"),
                "Unschedulable: Insufficient cpu"},
        FitCase{"GpusTaken", pod("r").gpus(4), pod("p").gpus(5),
                "Unschedulable: Insufficient nvidia.com/gpu"},
        FitCase{"MoreThanTheNodeHas", pod("r").gpus(4), pod("p").gpus(9),
                std::string(kUnresolvable) + "Insufficient nvidia.com/gpu"},
        FitCase{
            "EveryShortageIsNamed", pod("r").cpu("10").memory("20Gi").gpus(8),
            pod("p").cpu("1").memory("1Gi").request("ephemeral-storage", "1Gi").gpus(1),
            "Unschedulable: Insufficient cpu, Insufficient memory, Insufficient nvidia.com/gpu"},
        FitCase{"OneUnresolvableDecides", pod("r").cpu("10"), pod("p").cpu("1").gpus(9),
                std::string(kUnresolvable) + "Insufficient cpu, Insufficient nvidia.com/gpu"},
        FitCase{"UnknownExtendedResource", pod("r"), pod("p").extended("amd.com/gpu", "1"),
                std::string(kUnresolvable) + "Insufficient amd.com/gpu"},
        FitCase{"NothingAskedFitsAFullNode", pod("r").cpu("10").memory("20Gi"), pod("p"), "ok"},
        FitCase{"OverheadCounts", pod("r").cpu("9"), pod("p").cpu("1").overhead("cpu", "1m"),
                "Unschedulable: Insufficient cpu"},
        FitCase{"InitContainersCountByTheLargest", pod("r").cpu("9"),
                pod("p").cpu("1").init_container("i").cpu("2"), "Unschedulable: Insufficient cpu"},
        FitCase{"SidecarsAdd", pod("r").cpu("9"), pod("p").cpu("500m").sidecar("s").cpu("501m"),
                "Unschedulable: Insufficient cpu"}),
    [](const auto& each) { return each.param.name; });

TEST(NodeResourcesFit, TheNodesPodLimitCountsThePod) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  world.with(node("n").pods(1)).with(node("none").pods(0)).with(pod("r"), "n");
  EXPECT_THAT(world.verdicts(pod("p")), ElementsAre(Pair("n", "Unschedulable: Too many pods"),
                                                    Pair("none", "Unschedulable: Too many pods")));
}

TEST(NodeResourcesFit, TooManyPodsComesFirst) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  world.with(node("n").pods(1).cpu("2")).with(pod("r").cpu("2"), "n");
  EXPECT_THAT(world.verdicts(pod("p").cpu("1")),
              ElementsAre(Pair("n", "Unschedulable: Too many pods, Insufficient cpu")));
}

TEST(NodeResourcesFit, NamesAllOfVeryManyResources) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  auto big = node("n").pods(1);
  auto wants = pod("p");
  for (int i = 0; i < 100; ++i) {
    big.resource("vendor.example/r" + std::to_string(i), "1");
    wants.extended("vendor.example/r" + std::to_string(i), i == 99 ? "2" : "1");
  }
  world.with(big);
  EXPECT_THAT(
      world.verdicts(wants),
      ElementsAre(Pair("n", "UnschedulableAndUnresolvable: Insufficient vendor.example/r99")));
}

TEST(NodeResourcesFit, IgnoredResourcesDoNotFilter) {
  const auto args =
      json_of(R"({"ignoredResources": ["a.example/x"], "ignoredResourceGroups": ["b.example"]})");
  SchedulingWorld world(profile_of("NodeResourcesFit", args));
  world.with(node("n"));
  EXPECT_TRUE(
      world.decide(pod("p").extended("a.example/x", "1").extended("b.example/y", "1")).placed());
  EXPECT_FALSE(world.decide(pod("q").extended("a.example/z", "1")).placed());
}

// ---- scores
// ---------------------------------------------------------------------------------------------

struct ScoreCase {
  ScoringStrategy strategy;
  std::int64_t requested;
  std::int64_t capacity;
  std::int64_t want;
};

class AllocationScore : public testing::TestWithParam<ScoreCase> {};

TEST_P(AllocationScore, Is) {
  const std::vector<UtilizationPoint> shape = {{.utilization = 0, .score = 0},
                                               {.utilization = 100, .score = 10}};
  const auto& c = GetParam();
  EXPECT_EQ(allocation_score(c.strategy, {.requested = c.requested, .capacity = c.capacity}, shape),
            c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, AllocationScore,
    testing::Values(ScoreCase{ScoringStrategy::LeastAllocated, 0, 8, 100},
                    ScoreCase{ScoringStrategy::LeastAllocated, 3, 8, 62},
                    ScoreCase{ScoringStrategy::LeastAllocated, 9, 8, 0},
                    ScoreCase{ScoringStrategy::LeastAllocated, 0, 0, 0},
                    ScoreCase{ScoringStrategy::MostAllocated, 3, 8, 37},
                    ScoreCase{ScoringStrategy::MostAllocated, 9, 8, 100},
                    ScoreCase{ScoringStrategy::MostAllocated, 0, 0, 0},
                    ScoreCase{ScoringStrategy::RequestedToCapacityRatio, 3, 8, 37},
                    ScoreCase{ScoringStrategy::RequestedToCapacityRatio, 9, 8, 100}));

TEST(AllocationScoreShape, IsABrokenLineFlatOutside) {
  const std::vector<UtilizationPoint> shape = {{.utilization = 20, .score = 2},
                                               {.utilization = 60, .score = 10},
                                               {.utilization = 80, .score = 0}};
  const auto at = [&](std::int64_t utilization) {
    return allocation_score(ScoringStrategy::RequestedToCapacityRatio,
                            {.requested = utilization, .capacity = 100}, shape);
  };
  EXPECT_EQ(at(0), 20);
  EXPECT_EQ(at(20), 20);
  EXPECT_EQ(at(40), 60);
  EXPECT_EQ(at(60), 100);
  EXPECT_EQ(at(70), 50);
  EXPECT_EQ(at(80), 0);
  EXPECT_EQ(at(100), 0);
}

TEST(NodeResourcesFit, LeastAllocatedPrefersEmptyAndIgnoresGpus) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  world.with(node("empty").cpu("10").memory("10Gi").gpus(8))
      .with(node("half").cpu("10").memory("10Gi").gpus(8));
  world.with(pod("r").cpu("5").memory("5Gi").gpus(1), "half");
  EXPECT_THAT(world.scores(pod("p").cpu("1").memory("1Gi").gpus(1), "NodeResourcesFit"),
              ElementsAre(Pair("empty", 90), Pair("half", 40)));
}

TEST(NodeResourcesFit, PodsWithoutRequestsScoreWithDefaults) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  world.with(node("small").cpu("1").memory("2000Mi")).with(node("big").cpu("10").memory("20000Mi"));
  EXPECT_THAT(world.scores(pod("p"), "NodeResourcesFit"),
              ElementsAre(Pair("big", 99), Pair("small", 90)));
}

TEST(NodeResourcesFit, MostAllocatedPacksGpusWhenListed) {
  const auto args = json_of(R"({"scoringStrategy": {"type": "MostAllocated",
      "resources": [{"name": "nvidia.com/gpu", "weight": 3}, {"name": "cpu", "weight": 1}]}})");
  SchedulingWorld world(profile_of("NodeResourcesFit", args));
  world.with(node("empty").cpu("8").gpus(8)).with(node("half").cpu("8").gpus(8));
  world.with(pod("r").cpu("4").gpus(4), "half");
  EXPECT_THAT(world.scores(pod("p").cpu("1").gpus(1), "NodeResourcesFit"),
              ElementsAre(Pair("empty", 12), Pair("half", 62)));
  // A pod without GPUs is not scored by them.
  EXPECT_THAT(world.scores(pod("q").cpu("1"), "NodeResourcesFit"),
              ElementsAre(Pair("empty", 12), Pair("half", 62)));
}

TEST(NodeResourcesFit, RatioSkipsResourcesThatScoreZero) {
  const auto args = json_of(R"({"scoringStrategy": {"type": "RequestedToCapacityRatio",
      "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]},
      "resources": [{"name": "nvidia.com/gpu", "weight": 5}, {"name": "ephemeral-storage", "weight": 1}]}})");
  SchedulingWorld world(profile_of("NodeResourcesFit", args));
  for (const char* name : {"a", "b"}) {
    world.with(node(name).gpus(8).resource("ephemeral-storage", "100Gi"));
  }
  EXPECT_THAT(world.scores(pod("p").gpus(4), "NodeResourcesFit"),
              ElementsAre(Pair("a", 50), Pair("b", 50)));
}

// ---- args
// -----------------------------------------------------------------------------------------------

struct BadArgs {
  std::string name;
  std::string args;
  std::string want;
};
void PrintTo(const BadArgs& c, std::ostream* out) {
  *out << c.name;
}

class BadFitArgs : public testing::TestWithParam<BadArgs> {};

TEST_P(BadFitArgs, NameTheField) {
  const auto parsed = parse_fit_args(json_of(GetParam().args));
  ASSERT_FALSE(parsed);
  EXPECT_THAT(to_string(parsed.error()), HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Args, BadFitArgs,
    testing::Values(
        BadArgs{"Type", R"({"scoringStrategy": {"type": "Best"}})",
                "scoringStrategy.type: Unsupported value: \"Best\": supported values: "
                "\"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\""},
        BadArgs{"NoType", R"({"scoringStrategy": {}})", "scoringStrategy.type: Required value"},
        BadArgs{"Unknown", R"({"scoringStrategi": {}})",
                "scoringStrategi: unknown field; did you mean \"scoringStrategy\"?"},
        BadArgs{"Group", R"({"ignoredResourceGroups": ["a/b"]})",
                "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't "
                "contain '/'"},
        BadArgs{"RatioOfAnother",
                R"({"scoringStrategy": {"type": "MostAllocated", "requestedToCapacityRatio": {}}})",
                "requestedToCapacityRatio: Forbidden: must be nil"},
        BadArgs{
            "Weight",
            R"({"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 101}]}})",
            "resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range "
            "(0, 100]"},
        BadArgs{
            "WeightText",
            R"({"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": "1"}]}})",
            "resources[0].weight: expected an integer"},
        BadArgs{"NoName",
                R"({"scoringStrategy": {"type": "LeastAllocated", "resources": [{"weight": 1}]}})",
                "resources[0].name: Required value"},
        BadArgs{"NoList", R"({"scoringStrategy": {"type": "LeastAllocated", "resources": 1}})",
                "expected a list"},
        BadArgs{"NoShape", R"({"scoringStrategy": {"type": "RequestedToCapacityRatio"}})",
                "requestedToCapacityRatio: Required value: must be specified"},
        BadArgs{
            "ShapeFalls",
            R"({"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio":
            {"shape": [{"utilization": 50, "score": 1}, {"utilization": 50, "score": 2}]}}})",
            "shape[1].utilization: Invalid value: 50: values must be sorted in increasing order"},
        BadArgs{
            "ShapeScore",
            R"({"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio":
            {"shape": [{"utilization": 50, "score": 11}]}}})",
            "shape[0].score: Invalid value: 11: not in valid range [0, 10]"},
        BadArgs{"Ignored", R"({"ignoredResources": [1]})",
                "ignoredResources[0]: expected a string"}),
    [](const auto& each) { return each.param.name; });

TEST(FitArgs, DefaultsAreKubernetes) {
  const auto args = parse_fit_args(nullptr);
  ASSERT_TRUE(args);
  EXPECT_EQ(args->strategy, ScoringStrategy::LeastAllocated);
  ASSERT_EQ(args->resources.size(), 2U);
  EXPECT_EQ(args->resources[0].name, "cpu");
  EXPECT_EQ(args->resources[1].name, "memory");
}

// ---- waking
// ---------------------------------------------------------------------------------------------

TEST(NodeResourcesFit, IsWokenByNodesThatCouldHoldThePod) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  const auto waiting = world.describe(pod("p").gpus(8));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint("NodeResourcesFit", *waiting, event);
  };
  EXPECT_EQ(hint(node_added(node("n").gpus(8).build())), Hint::Queue);
  EXPECT_EQ(hint(node_added(node("n").gpus(4).build())), Hint::Skip);
  EXPECT_EQ(hint(node_added(node("n").gpus(8).pods(0).build())), Hint::Skip);
  EXPECT_EQ(hint(node_updated(node("n").gpus(4).build(), node("n").gpus(8).build())), Hint::Queue);
  EXPECT_EQ(
      hint(node_updated(node("n").gpus(8).build(), node("n").gpus(8).label("a", "b").build())),
      Hint::Skip);
}

TEST(NodeResourcesFit, IsWokenByADeletedPodOnlyIfItsNodeNowHasRoom) {
  SchedulingWorld world(profile_of("NodeResourcesFit"));
  world.with(node("n").gpus(8)).with(pod("a").gpus(4), "n").with(pod("b").gpus(4), "n");
  const auto big = world.describe(pod("big").gpus(8));
  const auto small = world.describe(pod("small").gpus(4));
  const auto hint = [&](const PodPtr& waiting, const ClusterEvent& event) {
    return world.framework().hint("NodeResourcesFit", *waiting, event);
  };
  const sched::PlacedPod gone = *world.state().find_pod("default/a");
  world.state().remove_pod("default/a");
  const auto event = assigned_pod_deleted(gone.pod, gone.node, world.state());
  EXPECT_EQ(hint(big, event), Hint::Skip);
  EXPECT_EQ(hint(small, event), Hint::Room);
  const auto urgent = world.describe(pod("urgent").gpus(8).priority(1));
  EXPECT_EQ(hint(urgent, event), Hint::Room) << "it may preempt b";
  EXPECT_EQ(hint(world.describe(pod("mild").gpus(8).priority(1).preemption_policy("Never")), event),
            Hint::Skip);
  EXPECT_EQ(hint(big, assigned_pod_deleted(gone.pod)), Hint::Queue) << "room unknown: try";
}

} // namespace
} // namespace berth::sched
