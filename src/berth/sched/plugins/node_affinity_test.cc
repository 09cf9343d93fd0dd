#include "berth/sched/plugins/node_affinity.h"

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
using testing::HasSubstr;
using testing::Pair;

/// A pod whose nodeAffinity.required is the given list of terms.
PodBuilder requiring(std::string_view terms) {
  return with_spec(
      pod("p"), "affinity",
      fmt::format(R"({{"nodeAffinity": {{"requiredDuringSchedulingIgnoredDuringExecution":
                       {{"nodeSelectorTerms": {}}}}}}})",
                  terms));
}

struct MatchCase {
  std::string name;
  PodBuilder pod;
  bool want;
};
void PrintTo(const MatchCase& c, std::ostream* out) {
  *out << c.name;
}

class NodeAffinityMatch : public testing::TestWithParam<MatchCase> {};

TEST_P(NodeAffinityMatch, AgainstANodeWithLabels) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  world.with(node("n").label("zone", "a").label("cores", "64"));
  EXPECT_EQ(world.decide(GetParam().pod).placed(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, NodeAffinityMatch,
    testing::Values(
        MatchCase{"NothingAsked", pod("p"), true},
        MatchCase{"SelectorMatches", pod("p").node_selector("zone", "a"), true},
        MatchCase{"SelectorDiffers", pod("p").node_selector("zone", "b"), false},
        MatchCase{"SelectorKeyAbsent", pod("p").node_selector("rack", "a"), false},
        MatchCase{"In", pod("p").requires_node("zone", "In", {"b", "a"}), true},
        MatchCase{"NotInAbsentKey", pod("p").requires_node("rack", "NotIn", {"a"}), true},
        MatchCase{"NotIn", pod("p").requires_node("zone", "NotIn", {"a"}), false},
        MatchCase{"Exists", pod("p").requires_node("zone", "Exists"), true},
        MatchCase{"DoesNotExist", pod("p").requires_node("zone", "DoesNotExist"), false},
        MatchCase{"Gt", pod("p").requires_node("cores", "Gt", {"63"}), true},
        MatchCase{"GtEqual", pod("p").requires_node("cores", "Gt", {"64"}), false},
        MatchCase{"Lt", pod("p").requires_node("cores", "Lt", {"65"}), true},
        MatchCase{"LtNoNumber", pod("p").requires_node("zone", "Lt", {"65"}), false},
        MatchCase{"SelectorAndTerm",
                  pod("p").node_selector("zone", "a").requires_node("cores", "In", {"1"}), false},
        MatchCase{"NoTerms", requiring("[]"), false},
        MatchCase{"EmptyTerm", requiring("[{}]"), false},
        MatchCase{"TermsAreAlternatives", requiring(R"([
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}])"),
                  true},
        MatchCase{"FieldName", requiring(R"([
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}])"),
                  true},
        MatchCase{"FieldOtherName", requiring(R"([
                        {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}])"),
                  false}),
    [](const auto& each) { return each.param.name; });

TEST(NodeAffinity, ReasonIsUnresolvable) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  world.with(node("n"));
  EXPECT_THAT(world.verdicts(pod("p").node_selector("a", "b")),
              ElementsAre(Pair("n", "UnschedulableAndUnresolvable: node(s) didn't match Pod's node "
                                    "affinity/selector")));
}

TEST(NodeAffinity, NamedNodesAloneAreLookedAt) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  world.with(node("a")).with(node("b")).with(node("c"));
  const auto pinned = requiring(R"([
      {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]},
      {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}])");
  const char* const excluded =
      "UnschedulableAndUnresolvable: node(s) didn't satisfy plugin(s) [NodeAffinity]";
  EXPECT_THAT(world.verdicts(pinned),
              ElementsAre(Pair("a", excluded), Pair("b", "ok"), Pair("c", excluded)));
}

TEST(NodeAffinity, MissingNamedNodeFailsEverywhere) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  world.with(node("a")).with(node("b"));
  const auto pinned = requiring(
      R"([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}])");
  const Decision decision = world.decide(pinned);
  EXPECT_EQ(decision.message,
            "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].");
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("NodeAffinity"));
}

TEST(NodeAffinity, ContradictoryNamesAreAConflict) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  world.with(node("a")).with(node("b"));
  const auto pinned = requiring(R"([{"matchFields": [
      {"key": "metadata.name", "operator": "In", "values": ["a"]},
      {"key": "metadata.name", "operator": "In", "values": ["b"]}]}])");
  EXPECT_EQ(world.decide(pinned).message, "0/2 nodes are available: pod affinity terms conflict.");
}

TEST(NodeAffinity, ScoresPreferredTermsByWeight) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  world.with(node("both").label("fast", "y").label("near", "y"))
      .with(node("fast").label("fast", "y"));
  world.with(node("none"));
  const auto prefers =
      pod("p").prefers_node(30, "fast", "Exists").prefers_node(10, "near", "Exists");
  EXPECT_THAT(world.scores(prefers, "NodeAffinity"),
              ElementsAre(Pair("both", 100), Pair("fast", 75), Pair("none", 0)));
}

TEST(NodeAffinity, IsNotAskedForScoresWithoutPreferences) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  world.with(node("a")).with(node("b"));
  EXPECT_THAT(
      world.scores(pod("p").requires_node("kubernetes.io/hostname", "Exists"), "NodeAffinity"),
      testing::IsEmpty());
}

TEST(NodeAffinity, AddedAffinityIsEnforcedOnEveryPod) {
  const auto args =
      json_of(R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
      "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}]}}})");
  SchedulingWorld world(profile_of("NodeAffinity", args));
  world.with(node("in").label("pool", "x")).with(node("out"));
  EXPECT_THAT(world.verdicts(pod("p")),
              ElementsAre(Pair("in", "ok"),
                          Pair("out", "UnschedulableAndUnresolvable: node(s) didn't match "
                                      "scheduler-enforced node affinity")));
}

TEST(NodeAffinity, AddedPreferenceIsScored) {
  const auto args =
      json_of(R"({"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
      {"weight": 5, "preference": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}}]}})");
  SchedulingWorld world(profile_of("NodeAffinity", args));
  world.with(node("in").label("pool", "x")).with(node("out"));
  EXPECT_THAT(world.scores(pod("p"), "NodeAffinity"), ElementsAre(Pair("in", 100), Pair("out", 0)));
}

TEST(NodeAffinity, BrokenArgsNameTheField) {
  const auto args = parse_node_affinity_args(json_of(R"({"addedAffinity": 3})"));
  ASSERT_FALSE(args);
  EXPECT_THAT(to_string(args.error()), HasSubstr("addedAffinity: expected a map"));
}

TEST(NodeAffinity, IsWokenWhenANodeStartsToMatch) {
  SchedulingWorld world(profile_of("NodeAffinity"));
  const auto waiting = world.describe(pod("p").node_selector("zone", "a"));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint("NodeAffinity", *waiting, event);
  };
  const auto matching = node("n").label("zone", "a").build();
  const auto other = node("n").label("zone", "b").build();
  EXPECT_EQ(hint(node_added(matching)), Hint::Queue);
  EXPECT_EQ(hint(node_added(other)), Hint::Skip);
  EXPECT_EQ(hint(node_updated(other, matching)), Hint::Queue);
  EXPECT_EQ(hint(node_updated(matching, other)), Hint::Skip);
  const auto still = node("n").label("zone", "a").label("x", "y").build();
  EXPECT_EQ(hint(node_updated(matching, still)), Hint::Skip);
}

} // namespace
} // namespace berth::sched
