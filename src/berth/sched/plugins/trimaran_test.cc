// TargetLoadPacking, LoadVariationRiskBalancing, LowRiskOverCommitment on nodes with load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/plugins/load_variation_risk_balancing.h"
#include "berth/sched/plugins/low_risk_over_commitment.h"
#include "berth/sched/plugins/target_load_packing.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::json_of;
using test::node;
using test::node_metrics;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr TimePoint kEnd = TimePoint::from_unix_seconds(1'700'000'000);

PodBuilder started(PodBuilder builder, TimePoint at) {
  return builder.edit([&](boost::json::object& document) {
    api::object_at(document, "status")["startTime"] = to_rfc3339(at);
  });
}

TEST(TargetLoadPacking, PacksUpToTheTarget) {
  SchedulingWorld world(profile_of(kTargetLoadPacking));
  for (const char* name : {"busy", "idle", "some", "unknown"}) {
    world.with(node(name).cpu("10"));
  }
  world.with(node_metrics("idle").at(kEnd).measured("CPU", "AVG", 0));
  world.with(node_metrics("some").at(kEnd).measured("CPU", "AVG", 20));
  world.with(node_metrics("busy").at(kEnd).measured("CPU", "AVG", 60));
  // The pod may use up to 1 CPU, 10 %: 10, 30 and 70 % in use.
  EXPECT_THAT(
      world.scores(pod("p").limit("cpu", "1"), kTargetLoadPacking),
      ElementsAre(Pair("busy", 20), Pair("idle", 55), Pair("some", 85), Pair("unknown", 0)));
}

TEST(TargetLoadPacking, PredictsByLimitThenRequestThenDefault) {
  SchedulingWorld world(profile_of(kTargetLoadPacking));
  world.with(node("n").cpu("10")).with(node("other").cpu("10"));
  world.with(node_metrics("n").at(kEnd).measured("CPU", "Latest", 0));
  const auto score = [&](const PodBuilder& builder) {
    return world.scores(builder, kTargetLoadPacking).at("n");
  };
  EXPECT_EQ(score(pod("p").cpu("1").limit("cpu", "2")), 70);    // 20 %
  EXPECT_EQ(score(pod("p").cpu("2")), 85);                      // 2 * 1.5: 30 %
  EXPECT_EQ(score(pod("p")), 55);                               // 1 CPU
  EXPECT_EQ(score(pod("p").overhead("cpu", "1")), 70);          // + 1
  EXPECT_EQ(score(pod("p").container("second").cpu("2")), 100); // 1 + 3: 40 %
}

TEST(TargetLoadPacking, AddsPodsThatAreNotMeasuredYet) {
  SchedulingWorld world(profile_of(kTargetLoadPacking));
  world.with(node("n").cpu("10")).with(node("other").cpu("10"));
  world.with(node_metrics("n").at(kEnd).measured("CPU", "AVG", 10));
  const auto score = [&] { return world.scores(pod("p"), kTargetLoadPacking).at("n"); };
  EXPECT_EQ(score(), 70); // 10 + 10 %
  world.with(started(pod("old").limit("cpu", "1"), kEnd - Duration::seconds(60)), "n");
  EXPECT_EQ(score(), 70) << "it is in the measured load";
  world.with(started(pod("new").limit("cpu", "1"), kEnd - Duration::seconds(59)), "n");
  EXPECT_EQ(score(), 85);
  world.with(pod("coming").limit("cpu", "1"), "n");
  EXPECT_EQ(score(), 100);
  world.with(node_metrics("n").measured("CPU", "AVG", 10));
  EXPECT_EQ(score(), 33) << "no timestamp: all three, 50 %: 40 * 50 / 60";
}

TEST(TargetLoadPacking, ReadsWhatMetricsServerWrites) {
  SchedulingWorld world(profile_of(kTargetLoadPacking));
  world.with(node_metrics("n").at(kEnd).usage("cpu", "2500m"));
  world.with(node("n").cpu("10")).with(node("other").cpu("10"));
  EXPECT_EQ(world.scores(pod("p").limit("cpu", "500m"), kTargetLoadPacking).at("n"), 85); // 30 %
}

TEST(TargetLoadPacking, PacksGpusIfAskedTo) {
  SchedulingWorld world(profile_of(kTargetLoadPacking, json_of(R"({"resource": "nvidia.com/gpu",
      "targetUtilization": 80})")));
  world.with(node("a").gpus(8)).with(node("b").gpus(8));
  world.with(node_metrics("a").at(kEnd).measured("GPU", "AVG", 25));
  world.with(node_metrics("b").at(kEnd).measured("GPU", "AVG", 75));
  // 2 of 8 more: 50 and 100 %.
  EXPECT_THAT(world.scores(pod("p").gpus(2), kTargetLoadPacking),
              ElementsAre(Pair("a", 93), Pair("b", 0)));
  EXPECT_THAT(world.scores(pod("p").cpu("1"), kTargetLoadPacking), IsEmpty());
}

TEST(LoadVariation, TakesTheRiskierResource) {
  SchedulingWorld world(profile_of(kLoadVariationRiskBalancing));
  for (const char* name : {"both", "cpu-only", "steady", "unknown"}) {
    world.with(node(name).cpu("10").memory("10Gi"));
  }
  world.with(node_metrics("both")
                 .measured("CPU", "AVG", 40)
                 .measured("CPU", "STD", 20)
                 .measured("Memory", "AVG", 70));
  world.with(node_metrics("cpu-only").measured("CPU", "AVG", 40).measured("CPU", "STD", 20));
  world.with(node_metrics("steady").measured("CPU", "AVG", 40).measured("Memory", "AVG", 40));
  // cpu: mu (40 + 10) / 100; sigma 0.2 or 0; memory: mu 0.8 or 0.5.
  EXPECT_THAT(
      world.scores(pod("p").cpu("1").memory("1Gi"), kLoadVariationRiskBalancing),
      ElementsAre(Pair("both", 60), Pair("cpu-only", 65), Pair("steady", 75), Pair("unknown", 0)));
}

TEST(LoadVariation, LooksAtGpusIfAskedTo) {
  SchedulingWorld world(profile_of(kLoadVariationRiskBalancing,
                                   json_of(R"({"resources": ["cpu", "nvidia.com/gpu"]})")));
  world.with(node("a").cpu("10").gpus(8)).with(node("b").cpu("10").gpus(8));
  world.with(node_metrics("a").measured("CPU", "AVG", 0).measured("GPU", "AVG", 50));
  world.with(node_metrics("b").measured("CPU", "AVG", 0).measured("GPU", "AVG", 0));
  // GPU: mu (4 + 2) / 8 and 2 / 8; cpu 0.
  EXPECT_THAT(world.scores(pod("p").gpus(2), kLoadVariationRiskBalancing),
              ElementsAre(Pair("a", 63), Pair("b", 88)));
  EXPECT_THAT(world.scores(pod("p"), kLoadVariationRiskBalancing),
              ElementsAre(Pair("a", 100), Pair("b", 100)));
}

TEST(LowRisk, PrefersNodesWhereLimitsAndLoadStayWithin) {
  SchedulingWorld world(profile_of(kLowRiskOverCommitment));
  for (const char* name : {"limits", "loaded", "quiet", "unknown"}) {
    world.with(node(name).cpu("10").memory("10Gi"));
  }
  for (const char* name : {"limits", "loaded", "quiet"}) {
    world.with(
        node_metrics(name).measured("CPU", "AVG", name[0] == 'l' && name[1] == 'o' ? 60 : 10));
  }
  world.with(pod("a").cpu("5").limit("cpu", "13"), "limits");
  world.with(pod("b").cpu("5"), "loaded");
  world.with(pod("c").cpu("5"), "quiet");
  // limits: (14 - 10) / (14 - 6) = 0.5, half of it. loaded: 6 of 10 used, 5 requested and limited:
  // the load is beyond, half of 1.
  EXPECT_THAT(
      world.scores(pod("p").cpu("1"), kLowRiskOverCommitment),
      ElementsAre(Pair("limits", 75), Pair("loaded", 50), Pair("quiet", 100), Pair("unknown", 0)));
}

struct BadArgs {
  const char* name;
  const char* plugin;
  const char* args;
  const char* error;
};
class TrimaranArgs : public testing::TestWithParam<BadArgs> {};

TEST_P(TrimaranArgs, ErrorsNameTheField) {
  const auto framework =
      Framework::make(profile_of(GetParam().plugin, json_of(GetParam().args)), builtin_plugins());
  ASSERT_FALSE(framework.has_value());
  EXPECT_THAT(to_string(framework.error()), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, TrimaranArgs,
    testing::Values(
        BadArgs{"Unknown", "TargetLoadPacking", R"({"targetUtilisation": 40})",
                "did you mean \"targetUtilization\"?"},
        BadArgs{"Target", "TargetLoadPacking", R"({"targetUtilization": 100})",
                "Invalid value: 100: not in valid range [1, 99]"},
        BadArgs{"Multiplier", "TargetLoadPacking", R"({"defaultRequestsMultiplier": "much"})",
                "Invalid value: \"much\": must be a number"},
        BadArgs{"SmallMultiplier", "TargetLoadPacking", R"({"defaultRequestsMultiplier": "0.5"})",
                "must be greater than or equal to 1"},
        BadArgs{"Provider", "TargetLoadPacking", R"({"metricProvider": {"type": "Graphite"}})",
                "Unsupported value: \"Graphite\""},
        BadArgs{"Margin", "LoadVariationRiskBalancing", R"({"safeVarianceMargin": -1})",
                "must be a number of 0 or more"},
        BadArgs{"Resource", "LoadVariationRiskBalancing", R"({"resources": ["disk"]})",
                "Unsupported value: \"disk\""},
        BadArgs{"Window", "LowRiskOverCommitment", R"({"smoothingWindowSize": 0})",
                "must be greater than 0"},
        BadArgs{"Weight", "LowRiskOverCommitment", R"({"riskLimitWeights": {"cpu": 2}})",
                "not in valid range [0, 1]"}),
    [](const auto& args) { return std::string(args.param.name); });

} // namespace
} // namespace berth::sched
