#include "berth/sched/profile_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/framework.h"

namespace berth::sched {
namespace {

using P = ConfigPoint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// A and B filter and score, F filters, S scores, Q sorts the queue; X is none of the defaults.
ConfigPointSet extends(std::string_view name) {
  const ConfigPointSet both{P::PreFilter, P::Filter, P::PreScore, P::Score};
  return name == "F"   ? ConfigPointSet{P::Filter}
         : name == "S" ? ConfigPointSet{P::Score}
         : name == "Q" ? ConfigPointSet{P::QueueSort}
                       : both;
}

const std::vector<PluginRef> kDefaults = {{"Q", 1}, {"A", 3}, {"F", 1}, {"B", 2}, {"S", 1}};

struct Case {
  std::string name;
  PluginSets sets;
  std::vector<std::string> filter;
  std::vector<std::pair<std::string, std::int64_t>> score;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

PluginSets sets(PluginSet multi_point, PluginSet filter = {}, PluginSet score = {}) {
  PluginSets out;
  out.multi_point = std::move(multi_point);
  out.of(P::Filter) = std::move(filter);
  out.of(P::Score) = std::move(score);
  return out;
}

class Merge : public testing::TestWithParam<Case> {};

TEST_P(Merge, FollowsTheStockRules) {
  const auto merged = merge_plugins(kDefaults, GetParam().sets, &extends);
  ASSERT_TRUE(merged) << to_string(merged.error());
  EXPECT_EQ(merged->of(P::Filter), GetParam().filter);
  std::vector<std::pair<std::string, std::int64_t>> score;
  for (const std::string& name : merged->of(P::Score)) {
    score.emplace_back(name, merged->weights.at(name));
  }
  EXPECT_EQ(score, GetParam().score);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Merge,
    testing::Values(
        Case{"NothingSaidIsTheDefault", {}, {"A", "F", "B"}, {{"A", 3}, {"B", 2}, {"S", 1}}},
        Case{"AnAddedPluginComesLast",
             sets({.enabled = {{"X", 7}}, .disabled = {}}),
             {"A", "F", "B", "X"},
             {{"A", 3}, {"B", 2}, {"S", 1}, {"X", 7}}},
        Case{"AgainKeepsThePlaceAndTakesTheWeight",
             sets({.enabled = {{"B", 9}}, .disabled = {}}),
             {"A", "F", "B"},
             {{"A", 3}, {"B", 9}, {"S", 1}}},
        Case{"AgainWithoutAWeightWeighsOne",
             sets({.enabled = {{"A"}}, .disabled = {}}),
             {"A", "F", "B"},
             {{"A", 1}, {"B", 2}, {"S", 1}}},
        Case{"DisabledByName",
             sets({.enabled = {}, .disabled = {"A", "S"}}),
             {"F", "B"},
             {{"B", 2}}},
        Case{"DisabledAndEnabledMovesToTheEnd",
             sets({.enabled = {{"A", 5}}, .disabled = {"A"}}),
             {"F", "B", "A"},
             {{"B", 2}, {"S", 1}, {"A", 5}}},
        Case{"AllDisabledLeavesWhatIsEnabled",
             sets({.enabled = {{"X"}, {"A", 4}}, .disabled = {"*"}}),
             {"X", "A"},
             {{"X", 1}, {"A", 4}}},
        Case{"OnePointDisablesByName",
             sets({}, {.enabled = {}, .disabled = {"A"}}, {}),
             {"F", "B"},
             {{"A", 3}, {"B", 2}, {"S", 1}}},
        Case{"OnePointDisablesAll",
             sets({}, {}, {.enabled = {{"B", 5}}, .disabled = {"*"}}),
             {"A", "F", "B"},
             {{"B", 5}}},
        Case{"OnePointDisablesAllAndEnablesNothing",
             sets({}, {}, {.enabled = {}, .disabled = {"*"}}),
             {"A", "F", "B"},
             {}},
        Case{"ThePointGoesBeforeMultiPoint",
             sets({.enabled = {{"B", 6}}, .disabled = {}}, {},
                  {.enabled = {{"B", 8}}, .disabled = {}}),
             {"A", "F", "B"},
             {{"B", 8}, {"A", 3}, {"S", 1}}},
        Case{"ThePointsOwnWithoutAWeightWeighsOne",
             sets({}, {}, {.enabled = {{"A"}}, .disabled = {}}),
             {"A", "F", "B"},
             {{"A", 1}, {"B", 2}, {"S", 1}}},
        Case{"OverridesThenMultiPointThenTheRest",
             sets({}, {.enabled = {{"X"}, {"B"}, {"F"}}, .disabled = {}}),
             {"B", "F", "A", "X"},
             {{"A", 3}, {"B", 2}, {"S", 1}}},
        Case{"DisabledAndEnabledAtAPointCountsAsTheRest",
             sets({}, {.enabled = {{"A"}}, .disabled = {"A"}}),
             {"F", "B", "A"},
             {{"A", 3}, {"B", 2}, {"S", 1}}},
        Case{"OutOfMultiPointAndBackAtAPoint",
             sets({.enabled = {}, .disabled = {"A"}}, {}, {.enabled = {{"A", 2}}, .disabled = {}}),
             {"F", "B"},
             {{"B", 2}, {"S", 1}, {"A", 2}}}),
    [](const auto& each) { return each.param.name; });

TEST(MergeOrder, IsThatOfFilterAndKeepsTheOthersInPlace) {
  const auto plain = merge_plugins(kDefaults, {}, &extends);
  EXPECT_THAT(plain->order, ElementsAre("Q", "A", "F", "B", "S"));
  const auto turned =
      merge_plugins(kDefaults, sets({}, {.enabled = {{"B"}, {"X"}}, .disabled = {}}), &extends);
  EXPECT_THAT(turned->of(P::Filter), ElementsAre("B", "A", "F", "X"));
  EXPECT_THAT(turned->order, ElementsAre("Q", "B", "A", "F", "S", "X"));
}

TEST(MergeOrder, LeavesOutWhoTakesPartInNothing) {
  const auto merged =
      merge_plugins(kDefaults, sets({}, {}, {.enabled = {}, .disabled = {"S"}}), &extends);
  EXPECT_THAT(merged->order, ElementsAre("Q", "A", "F", "B"));
  EXPECT_FALSE(merged->points("A").empty());
  EXPECT_TRUE(merged->points("S").empty());
  EXPECT_THAT(merged->weights, ElementsAre(Pair("A", 3), Pair("B", 2)));
}

TEST(MergeErrors, SpeakOfTheEntry) {
  const auto twice =
      merge_plugins(kDefaults, sets({.enabled = {{"X"}, {"A"}, {"X"}}, .disabled = {}}), &extends);
  ASSERT_FALSE(twice);
  EXPECT_EQ(to_string(twice.error()),
            "multiPoint.enabled[2].name: plugin \"X\" already registered as \"MultiPoint\"");
  const auto at_point =
      merge_plugins(kDefaults, sets({}, {.enabled = {{"A"}, {"A"}}, .disabled = {}}), &extends);
  ASSERT_FALSE(at_point);
  EXPECT_EQ(to_string(at_point.error()),
            "filter.enabled[1].name: plugin \"A\" already registered as \"FilterPlugin\"");
  const auto wrong =
      merge_plugins(kDefaults, sets({}, {}, {.enabled = {{"A"}, {"F"}}, .disabled = {}}), &extends);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(to_string(wrong.error()),
            "score.enabled[1].name: plugin \"F\" does not extend ScorePlugin plugin");
}

// ---- points
// -----------------------------------------------------------------------------------------------

TEST(PluginPoints, EveryPluginHereExtendsWhatItTakesPartIn) {
  const Registry registry = builtin_plugins();
  for (const std::string& name : registry.names()) {
    const auto plugin = (*registry.find(name))({});
    if (name == "FGD" || name == "BidPrice") {
      EXPECT_FALSE(plugin) << "needs a target";
      continue;
    }
    ASSERT_TRUE(plugin);
    const ConfigPointSet stock = stock_points(name);
    if (!stock.empty()) {
      EXPECT_EQ(points_of(stock, config_points_of((*plugin)->points())), (*plugin)->points())
          << name;
    }
  }
}

TEST(PluginPoints, FilterDecidesForItsPreparation) {
  const ConfigPointSet both{P::PreFilter, P::Filter};
  EXPECT_EQ(points_of(both, {P::Filter}), static_cast<Points>(Point::Filter));
  EXPECT_EQ(points_of(both, {P::PreFilter}), 0U);
  EXPECT_EQ(points_of({P::PreFilter}, {P::PreFilter}), static_cast<Points>(Point::Filter));
  EXPECT_EQ(points_of({P::PreScore, P::Score, P::Reserve}, {P::Score, P::Reserve, P::Filter}),
            Point::Score | Point::Reserve);
}

} // namespace
} // namespace berth::sched
