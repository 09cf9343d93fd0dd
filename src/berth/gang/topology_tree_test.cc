#include "berth/gang/topology_tree.h"

#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

using test::node;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::vector<std::string> kLevels = {"zone", "rack"};

class Tree : public testing::Test {
 protected:
  void add(std::string_view name, std::string_view zone, std::string_view rack) {
    auto builder = node(name);
    if (!zone.empty()) {
      builder.label("zone", zone);
    }
    if (!rack.empty()) {
      builder.label("rack", rack);
    }
    state.set_node(builder.build());
  }
  /// "key=value depth [nodes]" of each domain.
  std::vector<std::string> picture() const {
    std::vector<std::string> lines;
    const TopologyTree tree(state, kLevels);
    for (const Domain& domain : tree.domains()) {
      std::string nodes;
      for (const sched::NodeId id : domain.nodes) {
        nodes += " " + state.node_name(id);
      }
      lines.push_back(fmt::format("{}={}{} {}:{}", domain.key, domain.value,
                                  domain.loose ? " loose" : "", domain.depth, nodes));
    }
    return lines;
  }

  sched::ClusterState state;
};

TEST_F(Tree, HasADomainForEachValueOfEachLevel) {
  add("a", "z1", "r1");
  add("b", "z1", "r2");
  add("c", "z2", "r1");
  add("d", "z1", "r1");
  EXPECT_THAT(picture(), ElementsAre("= 0: a b c d", "zone=z1 1: a b d", "rack=r1 2: a d",
                                     "rack=r2 2: b", "zone=z2 1: c", "rack=r1 2: c"));
}

TEST_F(Tree, NodesWithoutALabelAreNearNobody) {
  add("a", "z1", "");
  add("b", "z1", "r2");
  add("c", "", "");
  EXPECT_THAT(picture(), ElementsAre("= 0: a b c", "zone=z1 1: a b", "rack=r2 2: b",
                                     "rack= loose 2: a", "zone= loose 1: c"));
}

TEST_F(Tree, LevelsThatNobodyCarriesDoNotCount) {
  add("a", "", "r1");
  add("b", "", "r2");
  EXPECT_THAT(picture(), ElementsAre("= 0: a b", "rack=r1 1: a", "rack=r2 1: b"));
  EXPECT_FALSE(TopologyTree(state, kLevels).flat());
  EXPECT_TRUE(TopologyTree(state, {"block"}).flat());
}

/// A tree of one level with these capacities, one node each.
class ShareOut : public testing::Test {
 protected:
  void racks(const std::vector<std::int64_t>& capacities) {
    state = {};
    by_node.clear();
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      state.set_node(node(fmt::format("n{}", i)).label("rack", fmt::format("r{:02}", i)).build());
      by_node.push_back(capacities[i]);
    }
  }
  /// Share of each rack, by index of domain (the whole is 0).
  std::vector<std::pair<std::size_t, std::int64_t>> share(std::int64_t members) const {
    const TopologyTree tree(state, kLevels);
    return share_out(tree, domain_capacities(tree, by_node), 0, members);
  }

  sched::ClusterState state;
  std::vector<std::int64_t> by_node;
};

TEST_F(ShareOut, TakesTheRackThatFitsBest) {
  racks({8, 4, 6});
  EXPECT_THAT(share(4), ElementsAre(Pair(2U, 4)));
  EXPECT_THAT(share(5), ElementsAre(Pair(3U, 5)));
  EXPECT_THAT(share(7), ElementsAre(Pair(1U, 7)));
}

TEST_F(ShareOut, FillsTheLargestWhenNoneHoldsAll) {
  racks({8, 4, 6});
  EXPECT_THAT(share(11), ElementsAre(Pair(1U, 8), Pair(2U, 3)));
  EXPECT_THAT(share(13), ElementsAre(Pair(1U, 8), Pair(3U, 5)));
  EXPECT_THAT(share(18), ElementsAre(Pair(1U, 8), Pair(2U, 4), Pair(3U, 6)));
}

TEST_F(ShareOut, UsesAsFewRacksAsAnyDivisionCould) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> capacities;
    for (std::uint64_t i = 0; i < 1 + rng.below(8); ++i) {
      capacities.push_back(rng.between(0, 6));
    }
    racks(capacities);
    const std::int64_t whole =
        std::accumulate(capacities.begin(), capacities.end(), std::int64_t{0});
    if (whole == 0) {
      continue;
    }
    const std::int64_t members = rng.between(1, whole);
    const auto shares = share(members);
    std::int64_t sum = 0;
    for (const auto& [domain, share] : shares) {
      EXPECT_GT(share, 0);
      EXPECT_LE(share, capacities[domain - 1]);
      sum += share;
    }
    EXPECT_EQ(sum, members);
    // Every set of racks, the smallest that could hold all.
    std::size_t fewest = capacities.size();
    for (std::uint32_t set = 0; set < (1U << capacities.size()); ++set) {
      std::int64_t room = 0;
      for (std::size_t i = 0; i < capacities.size(); ++i) {
        room += (set >> i & 1U) != 0 ? capacities[i] : 0;
      }
      if (room >= members) {
        fewest = std::min(fewest, static_cast<std::size_t>(std::popcount(set)));
      }
    }
    EXPECT_EQ(shares.size(), fewest) << "round " << round;
  }
}

TEST_F(Tree, SharesOutLevelByLevel) {
  for (int i = 0; i < 12; ++i) {
    add(fmt::format("n{:02}", i), i < 8 ? "z1" : "z2", fmt::format("r{}", i / 2));
  }
  const TopologyTree tree(state, kLevels);
  const auto capacities = domain_capacities(tree, std::vector<std::int64_t>(12, 1));
  // Five do not fit into z2 (4 nodes): z1, and there two racks whole and one broken into.
  const auto shares = share_out(tree, capacities, 0, 5);
  ASSERT_EQ(shares.size(), 3U);
  for (const auto& [domain, share] : shares) {
    EXPECT_EQ(tree.domains()[domain].key, "rack");
    EXPECT_EQ(tree.domains()[domain].depth, 2U);
  }
  EXPECT_THAT(share_out(tree, capacities, 0, 4).size(), 2U) << "z2 fits best";
}

} // namespace
} // namespace berth::gang
