#include "berth/sched/plugins/inter_pod_affinity.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::json_of;
using test::node;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using test::with_spec;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const char* const kPlugin = "InterPodAffinity";

std::string term(std::string_view app, std::string_view key, std::string_view more = "") {
  return fmt::format(
      R"({{"labelSelector": {{"matchLabels": {{"app": "{}"}}}}, "topologyKey": "{}"{}}})", app, key,
      more);
}

PodBuilder requires_(PodBuilder made, std::string_view kind, std::string_view terms) {
  return with_spec(
      std::move(made), "affinity",
      fmt::format(R"({{"{}": {{"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}})", kind,
                  terms));
}

PodBuilder prefers(PodBuilder made, std::string_view kind, int weight, std::string_view term) {
  return with_spec(std::move(made), "affinity",
                   fmt::format(R"({{"{}": {{"preferredDuringSchedulingIgnoredDuringExecution":
                       [{{"weight": {}, "podAffinityTerm": {}}}]}}}})",
                               kind, weight, term));
}

/// Two nodes in zone a, one in zone b, one without a zone.
class InterPodAffinity : public testing::Test {
 protected:
  InterPodAffinity() {
    world.with(node("a1").label("zone", "a"))
        .with(node("a2").label("zone", "a"))
        .with(node("b1").label("zone", "b"));
    world.with(node("none"));
  }
  SchedulingWorld world{profile_of(kPlugin)};
};

const char* const kNoAffinity =
    "UnschedulableAndUnresolvable: node(s) didn't match pod affinity rules";
const char* const kAnti = "Unschedulable: node(s) didn't match pod anti-affinity rules";
const char* const kExisting =
    "Unschedulable: node(s) didn't satisfy existing pods anti-affinity rules";

TEST_F(InterPodAffinity, RequiredAffinityNeedsAMatchingPodInTheDomain) {
  world.with(pod("db").label("app", "db"), "a1");
  EXPECT_THAT(world.verdicts(requires_(pod("p"), "podAffinity", term("db", "zone"))),
              ElementsAre(Pair("a1", "ok"), Pair("a2", "ok"), Pair("b1", kNoAffinity),
                          Pair("none", kNoAffinity)));
}

TEST_F(InterPodAffinity, EveryTermMustHoldAndBeMatchedByOnePod) {
  world.with(pod("db").label("app", "db"), "a1").with(pod("web").label("app", "web"), "a2");
  const auto both =
      requires_(pod("p"), "podAffinity", term("db", "zone") + "," + term("web", "zone"));
  // No single pod is both: nothing counts.
  EXPECT_THAT(world.verdicts(both),
              ElementsAre(Pair("a1", kNoAffinity), Pair("a2", kNoAffinity), Pair("b1", kNoAffinity),
                          Pair("none", kNoAffinity)));
}

TEST_F(InterPodAffinity, TheFirstOfAGroupMayStartAnywhereWithTheKey) {
  const auto first = requires_(pod("p").label("app", "db"), "podAffinity", term("db", "zone"));
  EXPECT_THAT(world.verdicts(first), ElementsAre(Pair("a1", "ok"), Pair("a2", "ok"),
                                                 Pair("b1", "ok"), Pair("none", kNoAffinity)));
  world.with(pod("other").label("app", "db"), "b1");
  EXPECT_THAT(world.verdicts(first), ElementsAre(Pair("a1", kNoAffinity), Pair("a2", kNoAffinity),
                                                 Pair("b1", "ok"), Pair("none", kNoAffinity)));
}

TEST_F(InterPodAffinity, RequiredAntiAffinityForbidsTheDomain) {
  world.with(pod("db").label("app", "db"), "a1");
  EXPECT_THAT(
      world.verdicts(requires_(pod("p"), "podAntiAffinity", term("db", "zone"))),
      ElementsAre(Pair("a1", kAnti), Pair("a2", kAnti), Pair("b1", "ok"), Pair("none", "ok")));
  EXPECT_THAT(
      world.verdicts(requires_(pod("q"), "podAntiAffinity", term("db", "kubernetes.io/hostname"))),
      ElementsAre(Pair("a1", kAnti), Pair("a2", "ok"), Pair("b1", "ok"), Pair("none", "ok")));
}

TEST_F(InterPodAffinity, ExistingPodsKeepOthersAway) {
  world.with(requires_(pod("alone").label("app", "alone"), "podAntiAffinity", term("web", "zone")),
             "a1");
  EXPECT_THAT(world.verdicts(pod("p").label("app", "web")),
              ElementsAre(Pair("a1", kExisting), Pair("a2", kExisting), Pair("b1", "ok"),
                          Pair("none", "ok")));
  EXPECT_TRUE(world.decide(pod("q").label("app", "db")).placed());
}

struct NamespaceCase {
  std::string name;
  std::string more; // of the term
  bool other_ns_counts;
};
void PrintTo(const NamespaceCase& c, std::ostream* out) {
  *out << c.name;
}

class TermNamespaces : public testing::TestWithParam<NamespaceCase> {};

TEST_P(TermNamespaces, DecideWhetherAPodOfAnotherNamespaceCounts) {
  SchedulingWorld world(profile_of(kPlugin));
  world.with(node("n").label("zone", "a"));
  world.state().set_namespace("default", {});
  world.state().set_namespace("other", {{"team", "x"}});
  world.with(pod("db").ns("other").label("app", "db"), "n");
  const auto wants = requires_(pod("p"), "podAffinity", term("db", "zone", GetParam().more));
  EXPECT_EQ(world.decide(wants).placed(), GetParam().other_ns_counts);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, TermNamespaces,
    testing::Values(NamespaceCase{"OwnByDefault", "", false},
                    NamespaceCase{"Listed", R"(, "namespaces": ["other"])", true},
                    NamespaceCase{"NotListed", R"(, "namespaces": ["third"])", false},
                    NamespaceCase{"EmptySelectorIsAll", R"(, "namespaceSelector": {})", true},
                    NamespaceCase{"SelectorMatches",
                                  R"(, "namespaceSelector": {"matchLabels": {"team": "x"}})", true},
                    NamespaceCase{"SelectorDiffers",
                                  R"(, "namespaceSelector": {"matchLabels": {"team": "y"}})",
                                  false}),
    [](const auto& each) { return each.param.name; });

TEST_F(InterPodAffinity, PreferencesPullAndPush) {
  world.with(pod("db").label("app", "db"), "a1");
  EXPECT_THAT(world.scores(prefers(pod("p"), "podAffinity", 10, term("db", "zone")), kPlugin),
              ElementsAre(Pair("a1", 100), Pair("a2", 100), Pair("b1", 0), Pair("none", 0)));
  EXPECT_THAT(world.scores(prefers(pod("q"), "podAntiAffinity", 10, term("db", "zone")), kPlugin),
              ElementsAre(Pair("a1", 0), Pair("a2", 0), Pair("b1", 100), Pair("none", 100)));
}

TEST_F(InterPodAffinity, ExistingPreferencesAndRequirementsPullToo) {
  world.with(prefers(pod("r").label("app", "r"), "podAffinity", 3, term("web", "zone")), "a1");
  world.with(
      requires_(pod("s").label("app", "s"), "podAffinity", term("web", "kubernetes.io/hostname")),
      "a2");
  // zone a: 3; a2 also 1 for the hard term.
  EXPECT_THAT(world.scores(pod("p").label("app", "web"), kPlugin),
              ElementsAre(Pair("a1", 75), Pair("a2", 100), Pair("b1", 0), Pair("none", 0)));
}

TEST(InterPodAffinityArgs, ChangeWhatExistingPodsWeigh) {
  SchedulingWorld world(profile_of(kPlugin, json_of(R"({"hardPodAffinityWeight": 9})")));
  world.with(node("a").label("zone", "a")).with(node("b").label("zone", "b"));
  world.with(requires_(pod("s"), "podAffinity", term("web", "zone")), "a");
  world.with(prefers(pod("r"), "podAffinity", 3, term("web", "zone")), "b");
  EXPECT_THAT(world.scores(pod("p").label("app", "web"), kPlugin),
              ElementsAre(Pair("a", 100), Pair("b", 0)));

  SchedulingWorld deaf(
      profile_of(kPlugin, json_of(R"({"ignorePreferredTermsOfExistingPods": true})")));
  deaf.with(node("a").label("zone", "a")).with(node("b").label("zone", "b"));
  deaf.with(prefers(pod("r"), "podAffinity", 3, term("web", "zone")), "b");
  EXPECT_THAT(deaf.scores(pod("p").label("app", "web"), kPlugin), IsEmpty());
  EXPECT_FALSE(parse_inter_pod_affinity_args(json_of(R"({"hardPodAffinityWeight": 101})")));
  EXPECT_FALSE(
      parse_inter_pod_affinity_args(json_of(R"({"ignorePreferredTermsOfExistingPods": 1})")));
}

TEST_F(InterPodAffinity, NoTermsAnywhereMeansNoScore) {
  world.with(pod("db").label("app", "db"), "a1");
  EXPECT_THAT(world.scores(pod("p"), kPlugin), IsEmpty());
}

TEST_F(InterPodAffinity, WhatIfChangesWhatCounts) {
  world.with(pod("db").label("app", "db"), "a1");
  const auto wants = world.describe(requires_(pod("p"), "podAntiAffinity", term("db", "zone")));
  const auto prepared = world.framework().find(kPlugin)->plugin->prepare(wants, world.state());
  const NodeId a2 = *world.state().find_node("a2");
  EXPECT_FALSE(prepared.run->filter(a2).ok());
  const auto db = world.state().find_pod("default/db")->pod;
  {
    const auto undo = world.state().try_remove("default/db");
    prepared.run->remove_pod(*db, *world.state().find_node("a1"));
    EXPECT_TRUE(prepared.run->filter(a2).ok());
    prepared.run->add_pod(*db, *world.state().find_node("a1"));
  }
  EXPECT_FALSE(prepared.run->filter(a2).ok());
}

TEST_F(InterPodAffinity, IsWokenByPodsThatCanSatisfyIt) {
  const auto with = world.describe(requires_(pod("p"), "podAffinity", term("db", "zone")));
  const auto without = world.describe(requires_(pod("q"), "podAntiAffinity", term("db", "zone")));
  const auto db = world.describe(pod("db").label("app", "db"));
  EXPECT_EQ(world.framework().hint(kPlugin, *with, assigned_pod_added(db)), Hint::Queue);
  EXPECT_EQ(world.framework().hint(kPlugin, *without, assigned_pod_added(db)), Hint::Skip);
  EXPECT_EQ(world.framework().hint(kPlugin, *without, assigned_pod_deleted(db)), Hint::Queue);
}

} // namespace
} // namespace berth::sched
