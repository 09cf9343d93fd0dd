#include "berth/sched/plugins/node_resource_topology_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/pod_fingerprint.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::json_of;
using test::node;
using test::numa_report;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const char* const kPlugin = "NodeResourceTopologyMatch";

PodBuilder guaranteed(std::string_view name, std::string_view cpu) {
  return pod(name).extended("cpu", cpu).extended("memory", "1Gi");
}

test::NumaReportBuilder two_zones(std::string_view node, std::string_view cpus) {
  return numa_report(node)
      .zone("node-0")
      .free("cpu", cpus)
      .free("memory", "8Gi")
      .zone("node-1")
      .free("cpu", cpus)
      .free("memory", "8Gi");
}

TEST(NumaMatch, LooksAtNodesThatAreReported) {
  SchedulingWorld world(profile_of(kPlugin));
  world.with(node("aligned")).with(node("loose")).with(node("small")).with(node("unknown"));
  world.with(two_zones("aligned", "4"))
      .with(two_zones("loose", "2").policy("best-effort"))
      .with(two_zones("small", "2"));
  EXPECT_THAT(world.verdicts(guaranteed("p", "3")),
              ElementsAre(Pair("aligned", "ok"), Pair("loose", "ok"),
                          Pair("small", "Unschedulable: cannot align container"),
                          Pair("unknown", "ok")));
  EXPECT_THAT(world.verdicts(pod("best-effort")),
              ElementsAre(Pair("aligned", "ok"), Pair("loose", "ok"), Pair("small", "ok"),
                          Pair("unknown", "ok")));
}

TEST(NumaMatch, NamesWhatDoesNotFit) {
  SchedulingWorld world(profile_of(kPlugin));
  world.with(node("n"));
  PodBuilder init = guaranteed("p", "1");
  init.init_container("i").extended("cpu", "5").extended("memory", "1Gi");
  world.with(two_zones("n", "4"));
  EXPECT_THAT(world.verdicts(init),
              ElementsAre(Pair("n", "Unschedulable: cannot align init container")));
  world.with(two_zones("n", "4").scope("pod"));
  EXPECT_THAT(world.verdicts(guaranteed("p", "5")),
              ElementsAre(Pair("n", "Unschedulable: cannot align pod")));
}

TEST(NumaMatch, DevicesOfOneContainerComeFromOneZone) {
  // The two workers of scheduler-plugins' own manifests: on b, each device is in another zone.
  SchedulingWorld world(profile_of(kPlugin));
  for (const char* name : {"a", "b"}) {
    world.with(node(name).cpu("8").resource("example.com/a", "3").resource("example.com/b", "3"));
  }
  world.with(numa_report("a")
                 .zone("node-0")
                 .free("cpu", "3")
                 .free("example.com/a", "1")
                 .free("example.com/b", "2")
                 .zone("node-1")
                 .free("cpu", "3")
                 .free("example.com/a", "2")
                 .free("example.com/b", "1"));
  world.with(numa_report("b")
                 .zone("node-0")
                 .free("cpu", "3")
                 .free("example.com/a", "3")
                 .zone("node-1")
                 .free("cpu", "3")
                 .free("example.com/b", "3"));
  const auto wants = [](std::string_view a, std::string_view b) {
    return pod("p").cpu("1").extended("example.com/a", a).extended("example.com/b", b);
  };
  EXPECT_THAT(world.verdicts(wants("1", "1")),
              ElementsAre(Pair("a", "ok"), Pair("b", "Unschedulable: cannot align container")));
  EXPECT_THAT(world.verdicts(wants("2", "2")),
              ElementsAre(Pair("a", "Unschedulable: cannot align container"),
                          Pair("b", "Unschedulable: cannot align container")));
}

TEST(NumaMatch, ScoresGuaranteedPodsByZones) {
  SchedulingWorld world(profile_of(kPlugin));
  world.with(node("big")).with(node("small")).with(node("unknown"));
  world.with(two_zones("big", "8")).with(two_zones("small", "4"));
  // cpu (8-2)/8 = 75 and (4-2)/4 = 50; memory 7/8 = 87.
  EXPECT_THAT(world.scores(guaranteed("p", "2"), kPlugin),
              ElementsAre(Pair("big", 81), Pair("small", 68), Pair("unknown", 0)));
  EXPECT_THAT(world.scores(pod("p").cpu("2"), kPlugin),
              ElementsAre(Pair("big", 100), Pair("small", 100), Pair("unknown", 100)));
}

TEST(NumaMatch, ByDefaultTheLatestReportCountsAsItIs) {
  SchedulingWorld world(profile_of(kPlugin));
  world.with(node("n")).with(two_zones("n", "4"));
  EXPECT_TRUE(world.decide(guaranteed("p1", "4")).placed());
  EXPECT_TRUE(world.decide(guaranteed("p2", "4")).placed()) << "the report does not know of p1";
  world.with(two_zones("n", "2"));
  EXPECT_FALSE(world.decide(guaranteed("p3", "4")).placed());
}

class OverReserve : public testing::Test {
 protected:
  OverReserve() { world.with(node("n")).with(two_zones("n", "4")); }
  static std::string fingerprint(const std::vector<std::string>& pods) {
    std::vector<api::Key> keys;
    for (const auto& name : pods) {
      keys.push_back({"default", name});
    }
    return pod_fingerprint(keys);
  }
  SchedulingWorld world{profile_of(kPlugin, json_of(R"({"cacheResyncPeriodSeconds": 5})"))};
};

TEST_F(OverReserve, TakesWhatCameSinceFromEveryZone) {
  EXPECT_TRUE(world.decide(guaranteed("p1", "3")).placed());
  EXPECT_FALSE(world.decide(guaranteed("p2", "2")).placed()) << "1 is left in each zone";
  EXPECT_TRUE(world.decide(guaranteed("p3", "1")).placed());
  world.state().forget("default/p1");
  EXPECT_TRUE(world.decide(guaranteed("p4", "3")).placed()) << "4 - 1";
}

TEST_F(OverReserve, AReportCountsOnceItIsOfThePodsThatAreThere) {
  EXPECT_TRUE(world.decide(guaranteed("p1", "3")).placed());
  world.with(two_zones("n", "2"));
  EXPECT_FALSE(world.decide(guaranteed("p2", "2")).placed()) << "it says nothing of its pods";
  world.with(two_zones("n", "2").fingerprint(fingerprint({"other"})));
  EXPECT_FALSE(world.decide(guaranteed("p2", "2")).placed()) << "it is of other pods";
  world.with(two_zones("n", "2").fingerprint(fingerprint({"p1"})));
  EXPECT_TRUE(world.decide(guaranteed("p2", "2")).placed()) << "p1 is in it";
  EXPECT_FALSE(world.decide(guaranteed("p3", "1")).placed()) << "p2 is not";
}

TEST_F(OverReserve, AReportThatIsAheadWaitsForItsPods) {
  world.with(two_zones("n", "2").fingerprint(fingerprint({"p1"})));
  EXPECT_TRUE(world.decide(guaranteed("p2", "4")).placed()) << "the first report still counts";
  world.state().forget("default/p2");
  world.with(guaranteed("p1", "2"), "n");
  EXPECT_FALSE(world.decide(guaranteed("p3", "3")).placed()) << "now the second does";
  EXPECT_TRUE(world.decide(guaranteed("p4", "2")).placed());
}

TEST_F(OverReserve, PreemptionGivesBackWhatWasTaken) {
  SchedulingWorld evicting(profile_of(
      {{.name = kPlugin, .weight = 1, .args = json_of(R"({"cacheResyncPeriodSeconds": 5})")},
       {.name = "DefaultPreemption", .weight = 1, .args = {}}}));
  evicting.with(node("n")).with(two_zones("n", "4"));
  EXPECT_TRUE(evicting.decide(guaranteed("p1", "3")).placed());
  const Decision decision = evicting.decide(guaranteed("p2", "4").priority(10));
  ASSERT_EQ(decision.victims.size(), 1U);
  EXPECT_EQ(decision.victims.front()->name(), "p1");
}

TEST(NumaMatch, DiscardsNodesThatPodsAreOnTheirWayTo) {
  SchedulingWorld world(profile_of(kPlugin, json_of(R"({"discardReservedNodes": true})")));
  world.with(node("n")).with(two_zones("n", "4"));
  EXPECT_TRUE(world.decide(guaranteed("p1", "1")).placed());
  EXPECT_THAT(world.verdicts(guaranteed("p2", "1")),
              ElementsAre(Pair("n", "Unschedulable: invalid node topology data")));
  world.with(guaranteed("p1", "1"), "n");
  EXPECT_THAT(world.verdicts(guaranteed("p2", "1")), ElementsAre(Pair("n", "ok")));
}

struct BadArgs {
  const char* name;
  const char* args;
  const char* error;
};
class NumaMatchArgsErrors : public testing::TestWithParam<BadArgs> {};

TEST_P(NumaMatchArgsErrors, NameTheField) {
  const auto made = parse_numa_match_args(json_of(GetParam().args));
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(to_string(made.error()), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, NumaMatchArgsErrors,
    testing::Values(
        BadArgs{"Unknown", R"({"scoringStrateg": {}})", "did you mean \"scoringStrategy\"?"},
        BadArgs{"Type", R"({"scoringStrategy": {"type": "Least"}})",
                "scoringStrategy.type: Unsupported value: \"Least\""},
        BadArgs{"Weight", R"({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}})",
                "scoringStrategy.resources[0].weight: Invalid value: 101"},
        BadArgs{"Period", R"({"cacheResyncPeriodSeconds": -1})",
                "cacheResyncPeriodSeconds: Invalid value: -1"},
        BadArgs{"Foreign", R"({"cache": {"foreignPodsDetect": "Some"}})",
                "cache.foreignPodsDetect: Unsupported value: \"Some\""}),
    [](const auto& args) { return std::string(args.param.name); });

} // namespace
} // namespace berth::sched
