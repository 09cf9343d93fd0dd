#include "berth/sched/plugins/pod_topology_spread.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using test::with_spec;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const char* const kPlugin = "PodTopologySpread";
const char* const kSkewed = "Unschedulable: node(s) didn't match pod topology spread constraints";
const char* const kNoLabel =
    "UnschedulableAndUnresolvable: node(s) didn't match pod topology spread constraints "
    "(missing required label)";

std::string constraint(std::string_view key, std::string_view when, std::string_view more = "") {
  return fmt::format(R"({{"maxSkew": 1, "topologyKey": "{}", "whenUnsatisfiable": "{}",
      "labelSelector": {{"matchLabels": {{"app": "web"}}}}{}}})",
                     key, when, more);
}

PodBuilder spread(std::string_view constraints, std::string_view app = "web") {
  return with_spec(pod("p").label("app", app), "topologySpreadConstraints",
                   fmt::format("[{}]", constraints));
}

/// Zones a (two nodes) and b (one), and a node without a zone.
class PodTopologySpread : public testing::Test {
 protected:
  PodTopologySpread() {
    world.with(node("a1").label("zone", "a"))
        .with(node("a2").label("zone", "a"))
        .with(node("b1").label("zone", "b"));
    world.with(node("none"));
  }
  void web(std::string_view name, std::string_view where) {
    world.with(pod(name).label("app", "web"), where);
  }
  SchedulingWorld world{profile_of(kPlugin)};
};

TEST_F(PodTopologySpread, EmptyDomainsAllDo) {
  EXPECT_THAT(
      world.verdicts(spread(constraint("zone", "DoNotSchedule"))),
      ElementsAre(Pair("a1", "ok"), Pair("a2", "ok"), Pair("b1", "ok"), Pair("none", kNoLabel)));
}

TEST_F(PodTopologySpread, TheFullerDomainIsRefused) {
  web("w1", "a1");
  EXPECT_THAT(world.verdicts(spread(constraint("zone", "DoNotSchedule"))),
              ElementsAre(Pair("a1", kSkewed), Pair("a2", kSkewed), Pair("b1", "ok"),
                          Pair("none", kNoLabel)));
}

TEST_F(PodTopologySpread, APodThatDoesNotMatchItselfAddsNothing) {
  web("w1", "a1");
  EXPECT_THAT(
      world.verdicts(spread(constraint("zone", "DoNotSchedule"), "other")),
      ElementsAre(Pair("a1", "ok"), Pair("a2", "ok"), Pair("b1", "ok"), Pair("none", kNoLabel)));
  web("w2", "a2");
  EXPECT_THAT(world.verdicts(spread(constraint("zone", "DoNotSchedule"), "other")),
              ElementsAre(Pair("a1", kSkewed), Pair("a2", kSkewed), Pair("b1", "ok"),
                          Pair("none", kNoLabel)));
}

TEST_F(PodTopologySpread, OnlyLivePodsOfTheNamespaceCount) {
  world.with(pod("w1").label("app", "web").ns("other"), "a1");
  world.with(pod("w2").label("app", "web").deleted(TimePoint::from_unix_seconds(1)), "a1");
  EXPECT_TRUE(world.verdicts(spread(constraint("zone", "DoNotSchedule"))).at("a1") == "ok");
}

TEST_F(PodTopologySpread, TooFewDomainsCountTheLeastAsZero) {
  web("w1", "a1");
  web("w2", "b1");
  EXPECT_EQ(world.verdicts(spread(constraint("zone", "DoNotSchedule"))).at("b1"), "ok");
  EXPECT_EQ(
      world.verdicts(spread(constraint("zone", "DoNotSchedule", R"(, "minDomains": 3)"))).at("b1"),
      kSkewed);
}

TEST_F(PodTopologySpread, NodesTheSelectorExcludesDoNotCount) {
  web("w1", "a1");
  auto pinned = spread(constraint("zone", "DoNotSchedule")).node_selector("zone", "a");
  // Zone b is out of reach, so it does not hold zone a back.
  EXPECT_EQ(world.verdicts(pinned).at("a1"), "ok");
  auto ignoring =
      spread(constraint("zone", "DoNotSchedule", R"(, "nodeAffinityPolicy": "Ignore")"));
  EXPECT_EQ(world.verdicts(ignoring.node_selector("zone", "a")).at("a1"), kSkewed);
}

TEST_F(PodTopologySpread, TaintedNodesCountUnlessHonoured) {
  world.with(node("b1").label("zone", "b").taint("x", "NoSchedule"));
  web("w1", "a1");
  EXPECT_EQ(world.verdicts(spread(constraint("zone", "DoNotSchedule"))).at("a1"), kSkewed);
  EXPECT_EQ(
      world
          .verdicts(spread(constraint("zone", "DoNotSchedule", R"(, "nodeTaintsPolicy": "Honor")")))
          .at("a1"),
      "ok");
}

TEST_F(PodTopologySpread, MatchLabelKeysNarrowTheSelector) {
  world.with(pod("w1").label("app", "web").label("rev", "1"), "a1");
  auto next = spread(constraint("zone", "DoNotSchedule", R"(, "matchLabelKeys": ["rev"])"));
  EXPECT_EQ(world.verdicts(PodBuilder(next).label("rev", "1")).at("a1"), kSkewed);
  EXPECT_EQ(world.verdicts(PodBuilder(next).label("rev", "2")).at("a1"), "ok");
}

TEST_F(PodTopologySpread, WhatIfMovesTheCounts) {
  web("w1", "a1");
  const auto waiting = world.describe(spread(constraint("zone", "DoNotSchedule")));
  const auto prepared = world.framework().find(kPlugin)->plugin->prepare(waiting, world.state());
  const NodeId a1 = *world.state().find_node("a1");
  const auto web_pod = world.state().find_pod("default/w1")->pod;
  EXPECT_FALSE(prepared.run->filter(a1).ok());
  prepared.run->remove_pod(*web_pod, a1);
  EXPECT_TRUE(prepared.run->filter(a1).ok());
  prepared.run->add_pod(*web_pod, a1);
  EXPECT_FALSE(prepared.run->filter(a1).ok());
}

TEST_F(PodTopologySpread, SoftConstraintsScoreTheEmptierDomain) {
  web("w1", "a1");
  EXPECT_THAT(world.scores(spread(constraint("zone", "ScheduleAnyway")), kPlugin),
              ElementsAre(Pair("a1", 0), Pair("a2", 0), Pair("b1", 100), Pair("none", 0)));
}

TEST_F(PodTopologySpread, HostnameCountsByNode) {
  web("w1", "a1");
  web("w2", "a1");
  web("w3", "a2");
  // Four nodes: raw = count x ln 6 = 4, 2, 0, 0; turned round by the highest.
  EXPECT_THAT(world.scores(spread(constraint("kubernetes.io/hostname", "ScheduleAnyway")), kPlugin),
              ElementsAre(Pair("a1", 0), Pair("a2", 50), Pair("b1", 100), Pair("none", 100)));
}

TEST_F(PodTopologySpread, NobodyCountedScoresAllAlike) {
  EXPECT_THAT(world.scores(spread(constraint("zone", "ScheduleAnyway")), kPlugin),
              ElementsAre(Pair("a1", 100), Pair("a2", 100), Pair("b1", 100), Pair("none", 0)));
}

TEST_F(PodTopologySpread, NoSoftConstraintsMeansNoScore) {
  EXPECT_THAT(world.scores(spread(constraint("zone", "DoNotSchedule")), kPlugin), IsEmpty());
}

TEST_F(PodTopologySpread, IsWokenByPodsTheSelectorMatches) {
  const auto waiting = world.describe(spread(constraint("zone", "DoNotSchedule")));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint(kPlugin, *waiting, event);
  };
  EXPECT_EQ(hint(assigned_pod_deleted(world.describe(pod("w").label("app", "web")))), Hint::Queue);
  EXPECT_EQ(hint(assigned_pod_added(world.describe(pod("w").label("app", "web")))), Hint::Queue);
  EXPECT_EQ(hint(assigned_pod_added(world.describe(pod("w").label("app", "db")))), Hint::Skip);
  EXPECT_EQ(hint(assigned_pod_added(world.describe(pod("w").label("app", "web").ns("other")))),
            Hint::Skip);
  EXPECT_EQ(hint(node_added(node("n").label("zone", "c").build())), Hint::Queue);
  EXPECT_EQ(hint(node_added(node("n").build())), Hint::Skip);
}

// ---- default constraints
// -------------------------------------------------------------------------------

const char* const kZoneKey = "topology.kubernetes.io/zone";

/// Zones a (a1, a2) and b (b1), and a node without a zone; a Service selects app=web.
class DefaultSpread : public testing::Test {
 protected:
  void start(boost::json::value args = nullptr) {
    world = std::make_unique<SchedulingWorld>(profile_of(kPlugin, std::move(args)));
    world->with(node("a1").label(kZoneKey, "a"))
        .with(node("a2").label(kZoneKey, "a"))
        .with(node("b1").label(kZoneKey, "b"))
        .with(node("none"));
    world->with(test::service("web").selects("app", "web"));
  }
  void web(std::string_view name, std::string_view where) {
    world->with(pod(name).label("app", "web"), where);
  }
  std::unique_ptr<SchedulingWorld> world;
};

TEST_F(DefaultSpread, SystemConstraintsSpreadPodsOfServices) {
  start();
  web("w1", "a1");
  web("w2", "a1");
  // Hostname: weight ln(4 + 2) = 1.792, maxSkew 3. Zone: a, b and "none" are 3 domains, weight
  // ln(3 + 2) = 1.609, maxSkew 5; a node without a zone gets no zone part.
  // a1: 2 * 1.792 + 2 + 2 * 1.609 + 4 = 12.8 -> 13; a2: 2 + 3.2 + 4 = 9.2 -> 9; b1: 6; none: 2.
  // Turned round, lowest 2, highest 13: 100 * (13 + 2 - s) / 13.
  EXPECT_THAT(world->scores(pod("p").label("app", "web"), kPlugin),
              ElementsAre(Pair("a1", 15), Pair("a2", 46), Pair("b1", 69), Pair("none", 100)));
  EXPECT_THAT(world->scores(pod("p").label("app", "db"), kPlugin), IsEmpty())
      << "nobody selects it";
}

TEST_F(DefaultSpread, ControllersSelectTheirPods) {
  start();
  const auto owner = test::replica_set("rs").uid("u1").selects("run", "x");
  world->with(owner);
  world->with(pod("r1").label("run", "x"), "b1");
  auto owned = pod("p").label("run", "x").owned_by(owner.object());
  const auto scores = world->scores(owned, kPlugin);
  EXPECT_LT(scores.at("b1"), scores.at("a1"));
  world->state().change_workloads().remove_controller("ReplicaSet", {"default", "rs"});
  EXPECT_THAT(world->scores(owned, kPlugin), IsEmpty());
}

TEST_F(DefaultSpread, ServicesAndControllersCountTogether) {
  start();
  const auto owner = test::replica_set("rs").uid("u1").selects("version", "2");
  world->with(owner);
  web("old", "a1"); // app=web, but not of version 2
  world->with(pod("new").label("app", "web").label("version", "2"), "b1");
  auto owned = pod("p").label("app", "web").label("version", "2").owned_by(owner.object());
  const auto scores = world->scores(owned, kPlugin);
  EXPECT_LT(scores.at("b1"), scores.at("a1"));
}

TEST_F(DefaultSpread, OwnConstraintsGoFirst) {
  start();
  web("w1", "a1");
  EXPECT_THAT(world->scores(spread(constraint("zone", "ScheduleAnyway")), kPlugin),
              ElementsAre(Pair("a1", 0), Pair("a2", 0), Pair("b1", 0), Pair("none", 0)))
      << "no node has its label";
}

TEST_F(DefaultSpread, ListReplacesTheSystems) {
  start(test::json_of(R"({"defaultingType": "List", "defaultConstraints": [
      {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
       "whenUnsatisfiable": "DoNotSchedule"}]})"));
  web("w1", "a1");
  EXPECT_THAT(world->verdicts(pod("p").label("app", "web")),
              ElementsAre(Pair("a1", kSkewed), Pair("a2", kSkewed), Pair("b1", "ok"),
                          Pair("none", kNoLabel)));
  EXPECT_THAT(
      world->verdicts(pod("p").label("app", "db")),
      ElementsAre(Pair("a1", "ok"), Pair("a2", "ok"), Pair("b1", "ok"), Pair("none", "ok")));
}

TEST_F(DefaultSpread, AnEmptyListTurnsThemOff) {
  start(test::json_of(R"({"defaultingType": "List"})"));
  web("w1", "a1");
  EXPECT_THAT(world->scores(pod("p").label("app", "web"), kPlugin), IsEmpty());
}

TEST_F(DefaultSpread, WaitingPodsWakeForAnyPodOfTheirNamespace) {
  start();
  const auto& plugin = *world->framework().find(kPlugin)->plugin;
  const PodPtr waiting = world->describe(pod("p").label("app", "web"));
  const auto deleted = [&](const PodBuilder& gone) {
    return plugin.hint(*waiting, assigned_pod_deleted(world->describe(gone)));
  };
  EXPECT_EQ(deleted(pod("w").label("app", "web")), Hint::Queue);
  EXPECT_EQ(deleted(pod("w").ns("other").label("app", "web")), Hint::Skip);
}

} // namespace
} // namespace berth::sched
