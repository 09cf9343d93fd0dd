#include "berth/topology/stock_hints.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::topology {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Hint on(std::vector<int> nodes, bool preferred) {
  return {.affinity = NumaMask::of(nodes), .preferred = preferred};
}
Stock stock(std::vector<int> nodes, std::int64_t all, std::int64_t free,
            std::int64_t reusable = 0) {
  return {.nodes = NumaMask::of(nodes), .all = all, .free = free, .reusable = reusable};
}

TEST(StockHints, PreferAsFewNodesAsAnEmptyMachineNeeds) {
  const auto found = stock_hints({stock({0}, 4, 4), stock({1}, 4, 4)}, 2);
  EXPECT_EQ(found.fewest_nodes, 1);
  EXPECT_THAT(found.hints, ElementsAre(on({0}, true), on({1}, true), on({0, 1}, false)));
}

TEST(StockHints, WhatIsTakenCountsForTheFewestAllTheSame) {
  const auto found = stock_hints({stock({0}, 4, 1), stock({1}, 4, 1)}, 2);
  EXPECT_EQ(found.fewest_nodes, 1);
  EXPECT_THAT(found.hints, ElementsAre(on({0, 1}, false)));
}

TEST(StockHints, LeaveNothingReusableOut) {
  const auto found = stock_hints({stock({0}, 4, 3, 0), stock({1}, 4, 2, 1)}, 2);
  EXPECT_THAT(found.hints, ElementsAre(on({1}, true), on({0, 1}, false)));
}

TEST(StockHints, AThingOnTwoNodesIsNearToBoth) {
  const auto found = stock_hints({stock({0, 1}, 1, 1), stock({1}, 1, 1)}, 1);
  EXPECT_THAT(found.hints, ElementsAre(on({0}, true), on({1}, true), on({0, 1}, false)));
}

TEST(StockHints, OfTooLittleAreNone) {
  EXPECT_THAT(stock_hints({stock({0}, 4, 1)}, 2).hints, IsEmpty());
}

// The rule written down: every non-empty set of the nodes.
std::vector<Hint> by_rule(const std::vector<Stock>& stocks, std::int64_t request) {
  NumaMask nodes;
  for (const Stock& each : stocks) {
    nodes = nodes | each.nodes;
  }
  int fewest = nodes.count();
  std::vector<Hint> hints;
  for (std::uint64_t bits = 1; bits <= nodes.bits(); ++bits) {
    const NumaMask set(bits);
    if (!nodes.contains(set)) {
      continue;
    }
    std::int64_t all = 0;
    std::int64_t has = 0;
    bool whole = true;
    for (const Stock& each : stocks) {
      const bool in = set.meets(each.nodes);
      all += in ? each.all : 0;
      has += in ? each.free + each.reusable : 0;
      whole = whole && (in || each.reusable == 0);
    }
    if (all >= request) {
      fewest = std::min(fewest, set.count());
    }
    if (whole && has >= request) {
      hints.push_back({.affinity = set, .preferred = false});
    }
  }
  for (Hint& hint : hints) {
    hint.preferred = hint.affinity->count() == fewest;
  }
  return hints;
}

TEST(StockHints, AgreeWithTheRule) {
  Rng rng(7);
  for (int turn = 0; turn < 500; ++turn) {
    std::vector<Stock> stocks;
    std::set<std::uint64_t> used;
    for (std::int64_t i = rng.between(1, 6); i > 0; --i) {
      const auto bits = static_cast<std::uint64_t>(rng.between(1, 63));
      if (used.insert(bits).second) {
        const std::int64_t free = rng.between(0, 3);
        const std::int64_t reusable = rng.chance(1, 4) ? rng.between(0, 2) : 0;
        stocks.push_back({.nodes = NumaMask(bits),
                          .all = free + reusable + rng.between(0, 3),
                          .free = free,
                          .reusable = reusable});
      }
    }
    const std::int64_t request = rng.between(1, 8);
    ASSERT_EQ(stock_hints(stocks, request).hints, by_rule(stocks, request)) << "turn " << turn;
  }
}

TEST(StockHints, OfMoreNodesThanCanBeEnumeratedAreFewAndStillRight) {
  std::vector<Stock> stocks;
  for (int node = 0; node < 34; ++node) {
    stocks.push_back(stock({node}, 4, node % 3));
  }
  const auto one = stock_hints(stocks, 2);
  EXPECT_EQ(one.fewest_nodes, 1);
  EXPECT_THAT(one.hints, Contains(on({2}, true)));
  EXPECT_THAT(one.hints, Contains(on({32}, true)));
  EXPECT_THAT(one.hints, SizeIs(::testing::Le(34u + 34u)));
  const auto ten = stock_hints(stocks, 30);
  EXPECT_EQ(ten.fewest_nodes, 8) << "four on each of an empty machine";
  ASSERT_FALSE(ten.hints.empty());
  for (const Hint& hint : ten.hints) {
    std::int64_t free = 0;
    for (const int node : hint.affinity->ids()) {
      free += node % 3;
    }
    EXPECT_GE(free, 30) << hint.affinity->to_string();
  }
}

TEST(CandidateSets, AreAllOfFewNodes) {
  EXPECT_THAT(candidate_sets(NumaMask::of({1, 4}), 0, {}),
              ElementsAre(NumaMask::of({1}), NumaMask::of({4}), NumaMask::of({1, 4})));
  EXPECT_THAT(candidate_sets(NumaMask(), 0, {}), IsEmpty());
  EXPECT_THAT(candidate_sets(NumaMask(0xffff), 0, {}), SizeIs(65535));
}

TEST(CandidateSets, OfManyNodesAreThoseOfTheFewestAndTheBest) {
  const NumaMask many(0x1ffff); // seventeen
  EXPECT_THAT(candidate_sets(many, 2, {16, 3, 5}), SizeIs(17 * 16 / 2 + 2))
      << "16 alone, all three";
  EXPECT_THAT(candidate_sets(many, 8, {16, 3}),
              ElementsAre(NumaMask::of({16}), NumaMask::of({3, 16})))
      << "too many of eight";
}

} // namespace
} // namespace berth::topology
