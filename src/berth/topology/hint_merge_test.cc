#include "berth/topology/hint_merge.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/numa_machines.h"
#include "berth/testing/slow_hint_merge.h"

namespace berth::topology {
namespace {

using Lists = std::vector<std::vector<Hint>>;
using Nearness = MergeRules::Nearness;

Hint on(std::vector<int> nodes, bool preferred) {
  return {.affinity = NumaMask::of(nodes), .preferred = preferred};
}
Hint anywhere(bool preferred) {
  return {.affinity = {}, .preferred = preferred};
}

std::string describe(const Lists& lists) {
  std::string text;
  for (const auto& list : lists) {
    text += "[";
    for (const Hint& hint : list) {
      text += fmt::format(" {}{}", hint.affinity ? hint.affinity->to_string() : "any",
                          hint.preferred ? "!" : "");
    }
    text += " ]";
  }
  return text;
}

struct Case {
  const char* name;
  Lists lists;
  Hint want;
};
class Merging : public ::testing::TestWithParam<Case> {};

TEST_P(Merging, FollowsTheRules) {
  const Machine machine = test::numa_machine({.sockets = 2, .nodes_per_socket = 2});
  const MergeRules rules{.all = machine.all_nodes()};
  EXPECT_EQ(merge_hints(GetParam().lists, rules, machine), GetParam().want);
  EXPECT_EQ(test::SlowHintMerge(rules, machine).merge(GetParam().lists), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, Merging,
    ::testing::Values(
        Case{"NobodyCaresIsEverywhere", {}, on({0, 1, 2, 3}, true)},
        Case{"OneThatDoesNotCareIsEverywhere", {{anywhere(true)}}, on({0, 1, 2, 3}, true)},
        Case{"OneThatCannotIsEverywhereAndNotPreferred",
             {{anywhere(false)}, {on({1}, true)}},
             on({1}, false)},
        Case{"AgreementIsPreferred",
             {{on({0}, true), on({1}, true)}, {on({1}, true), on({0, 1}, false)}},
             on({1}, true)},
        Case{"TheLowerOfEqualsIsTaken",
             {{on({1}, true), on({0}, true)}, {anywhere(true)}},
             on({0}, true)},
        Case{"TwoMasksAreNoAgreement", {{on({0, 1}, true)}, {on({0}, true)}}, on({0}, false)},
        Case{"NothingSharedIsEverywhere",
             {{on({0}, true)}, {on({1}, true)}},
             on({0, 1, 2, 3}, false)},
        Case{"AsManyNodesAsTheNeediestNeeds",
             {{on({0, 1}, false), on({0, 1, 2}, false)},
              {on({0}, false), on({0, 1}, false), on({0, 1, 2, 3}, false)}},
             on({0, 1}, false)},
        Case{"FromBelowRatherThanFromAbove",
             {{on({0, 1, 2}, false)}, {on({0}, true), on({0, 1}, false)}},
             on({0, 1}, false)},
        Case{"AnEmptyListLeavesNothing", {{}, {on({0}, true)}}, on({0, 1, 2, 3}, false)}),
    [](const auto& each) { return each.param.name; });

TEST(MergeHints, TakesTheClosestNodesIfAsked) {
  const Machine machine = test::numa_machine({.sockets = 2, .nodes_per_socket = 2});
  // 0 and 1 share a socket, 1 and 2 do not.
  const Lists lists{{on({1, 2}, true), on({2, 3}, true)}};
  EXPECT_EQ(merge_hints(lists, {.all = machine.all_nodes()}, machine), on({1, 2}, true));
  EXPECT_EQ(merge_hints(lists, {.all = machine.all_nodes(), .nearness = Nearness::Counts}, machine),
            on({2, 3}, true));
}

Lists random_lists(Rng& rng, int nodes) {
  Lists lists(static_cast<std::size_t>(rng.between(0, 4)));
  for (auto& list : lists) {
    for (std::int64_t i = rng.between(rng.chance(1, 20) ? 0 : 1, 5); i > 0; --i) {
      const std::uint64_t limit = std::uint64_t{1} << nodes;
      list.push_back({.affinity = rng.chance(1, 8) ? std::nullopt
                                                   : std::optional(NumaMask(rng.between(
                                                         1, static_cast<std::int64_t>(limit) - 1))),
                      .preferred = rng.chance(1, 2)});
    }
  }
  return lists;
}

class Merges : public ::testing::TestWithParam<int> {};

TEST_P(Merges, MergingEqualsTheCartesianProduct) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  for (int turn = 0; turn < 400; ++turn) {
    const int sockets = static_cast<int>(rng.between(1, 3));
    const int per_socket = static_cast<int>(rng.between(1, 2));
    const Machine machine =
        test::numa_machine({.sockets = sockets, .nodes_per_socket = per_socket});
    const MergeRules rules{.all = machine.all_nodes(),
                           .nearness = rng.chance(1, 2) ? Nearness::Counts : Nearness::Ignored};
    const Lists lists = random_lists(rng, sockets * per_socket);
    const Hint want = test::SlowHintMerge(rules, machine).merge(lists);
    const Hint got = merge_hints(lists, rules, machine);
    ASSERT_EQ(got, want) << describe(lists) << " gives " << describe({{got}}) << " and should "
                         << describe({{want}});
  }
}

// Long lists go another way than short ones.
TEST_P(Merges, LongListsAreMergedAsShortOnesAre) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  const Machine machine = test::numa_machine({.sockets = 6});
  const MergeRules rules{.all = machine.all_nodes()};
  Lists lists(2);
  for (auto& list : lists) {
    for (std::uint64_t bits = 1; bits < 64; ++bits) {
      if (rng.chance(2, 3)) {
        list.push_back({.affinity = NumaMask(bits), .preferred = rng.chance(1, 30)});
      }
    }
  }
  ASSERT_EQ(merge_hints(lists, rules, machine), test::SlowHintMerge(rules, machine).merge(lists))
      << describe(lists);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Merges, ::testing::Range(1, 21));

TEST(MergeHints, OfAGb200sThirtyFourNodesLooksOnlyAtThoseThatAreNamed) {
  const Machine machine = test::gb200_machine();
  const MergeRules rules{.all = machine.all_nodes()};
  const Lists lists{{on({0}, true), on({1}, true), on({0, 1}, false)},
                    {on({1}, true), on({0, 1}, false)},
                    {on({1}, true), on({0, 1}, false)},
                    {anywhere(true)}};
  EXPECT_EQ(merge_hints(lists, rules, machine), on({1}, true));
  EXPECT_EQ(merge_hints({{anywhere(true)}}, rules, machine).affinity->count(), 34);
}

// Providers that agree nowhere leave the search to the end.
TEST(MergeHints, OfThirtyFourNodesWithoutAgreementEndsToo) {
  const Machine machine = test::gb200_machine();
  std::vector<Hint> one;
  std::vector<Hint> two;
  for (int node = 0; node < 34; ++node) {
    one.push_back(on({node}, node % 2 == 0));
    two.push_back(on({node}, node % 2 == 1));
  }
  const MergeRules rules{.all = machine.all_nodes()};
  EXPECT_EQ(merge_hints({one, two}, rules, machine), on({0}, false));
}

TEST(ListsOf, SayWhatProvidersLeftOut) {
  const std::vector<Hint> some{on({0}, true)};
  const Lists lists = lists_of({{},
                                {{.resource = "gpu", .hints = some},
                                 {.resource = "nic", .hints = std::nullopt},
                                 {.resource = "fpga", .hints = std::vector<Hint>()}}});
  EXPECT_EQ(lists, (Lists{{anywhere(true)}, some, {anywhere(true)}, {anywhere(false)}}));
}

} // namespace
} // namespace berth::topology
