#include "berth/gang/share_out.h"

#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/gang/spread_levels.h"
#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

using test::node;
using testing::ElementsAre;
using testing::Pair;

const std::vector<std::string> kLevels = {"zone", "rack"};

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
  /// Share of each rack, by number.
  std::vector<std::pair<std::size_t, std::int64_t>> share(std::int64_t members) const {
    const TopologyTree tree(state, kLevels);
    std::vector<std::pair<std::size_t, std::int64_t>> shares;
    for (const Share& share : RoomByDomain(tree, by_node, {}, members).share_out(0, members)) {
      shares.emplace_back(share.nodes.front().index(), share.members);
    }
    return shares;
  }

  sched::ClusterState state;
  std::vector<std::int64_t> by_node;
};

TEST_F(ShareOut, TakesTheRackThatFitsBest) {
  racks({8, 4, 6});
  EXPECT_THAT(share(4), ElementsAre(Pair(1U, 4)));
  EXPECT_THAT(share(5), ElementsAre(Pair(2U, 5)));
  EXPECT_THAT(share(7), ElementsAre(Pair(0U, 7)));
}

TEST_F(ShareOut, FillsTheLargestWhenNoneHoldsAll) {
  racks({8, 4, 6});
  EXPECT_THAT(share(11), ElementsAre(Pair(0U, 8), Pair(1U, 3)));
  EXPECT_THAT(share(13), ElementsAre(Pair(0U, 8), Pair(2U, 5)));
  EXPECT_THAT(share(18), ElementsAre(Pair(0U, 8), Pair(1U, 4), Pair(2U, 6)));
}

TEST_F(ShareOut, FollowsMembersThatAreThere) {
  racks({8, 4, 6});
  const TopologyTree tree(state, kLevels);
  const std::vector<sched::NodeId> there = {*state.find_node("n0")};
  EXPECT_THAT(RoomByDomain(tree, by_node, there, 3).share_out(0, 3),
              ElementsAre(Share{.nodes = there, .members = 3}))
      << "n1 would fit best";
}

TEST_F(ShareOut, PrefersTheZoneWithFewerRacks) {
  const auto add = [&](std::string_view name, std::string_view zone, std::string_view rack,
                       std::int64_t room) {
    state.set_node(node(name).label("zone", zone).label("rack", rack).build());
    by_node.push_back(room);
  };
  add("a", "z1", "r1", 2);
  add("b", "z1", "r2", 2);
  add("c", "z1", "r3", 2);
  add("d", "z2", "r1", 3);
  add("e", "z2", "r2", 5);
  const TopologyTree tree(state, kLevels);
  const RoomByDomain room(tree, by_node, {}, 6);
  EXPECT_THAT(room.share_out(0, 6),
              ElementsAre(Share{.nodes = {*state.find_node("d")}, .members = 1},
                          Share{.nodes = {*state.find_node("e")}, .members = 5}))
      << "z1 is filled by six, but in three racks";
}

/// Every set of nodes that holds the members, and what the best of them spreads over.
Spread least_of_all_sets(const SpreadLevels& levels, const std::vector<std::int64_t>& by_node,
                         std::int64_t members) {
  std::optional<Spread> least;
  for (std::uint32_t set = 0; set < (1U << by_node.size()); ++set) {
    std::int64_t room = 0;
    Spread spread{};
    for (std::size_t level = 0; level < levels.depth(); ++level) {
      std::set<std::uint32_t> units;
      for (std::uint32_t i = 0; i < by_node.size(); ++i) {
        if ((set >> i & 1U) != 0) {
          units.insert(levels.unit(level, sched::NodeId(i)));
          room += level == 0 ? by_node[i] : 0;
        }
      }
      spread[level] = static_cast<std::uint32_t>(units.size());
    }
    if (room >= members && (!least || spread < *least)) {
      least = spread;
    }
  }
  return *least;
}

TEST_F(ShareOut, SpreadsAsLittleAsAnyDivisionCould) {
  Rng rng(11);
  for (int round = 0; round < 400; ++round) {
    state = {};
    by_node.clear();
    for (std::int64_t i = 0; i < rng.between(2, 9); ++i) {
      auto builder = node(fmt::format("n{}", i));
      if (!rng.chance(1, 5)) {
        builder.label("zone", fmt::format("z{}", rng.below(3)));
      }
      if (!rng.chance(1, 4)) {
        builder.label("rack", fmt::format("r{}", rng.below(3)));
      }
      state.set_node(builder.build());
      by_node.push_back(rng.between(0, 4));
    }
    const std::int64_t whole = std::accumulate(by_node.begin(), by_node.end(), std::int64_t{0});
    const TopologyTree tree(state, kLevels);
    if (whole == 0 || tree.flat()) {
      continue;
    }
    const std::int64_t members = rng.between(1, whole);
    const SpreadLevels levels(tree, state.node_slots(), "");
    const RoomByDomain room(tree, by_node, {}, members);
    std::int64_t sum = 0;
    Spread spread{};
    std::vector<std::set<std::uint32_t>> units(levels.depth());
    for (const Share& share : room.share_out(0, members)) {
      EXPECT_GT(share.members, 0);
      std::int64_t room_there = 0;
      for (const sched::NodeId node : share.nodes) {
        room_there += by_node[node.index()];
      }
      EXPECT_LE(share.members, room_there);
      sum += share.members;
      for (std::size_t level = 0; level < levels.depth(); ++level) {
        units[level].insert(levels.unit(level, share.nodes.front()));
        spread[level] = static_cast<std::uint32_t>(units[level].size());
      }
    }
    EXPECT_EQ(sum, members);
    EXPECT_EQ(spread, least_of_all_sets(levels, by_node, members)) << "round " << round;
    EXPECT_EQ(spread, room.spread(0, members));
  }
}

TEST_F(ShareOut, LevelByLevel) {
  for (int i = 0; i < 12; ++i) {
    state.set_node(node(fmt::format("n{:02}", i))
                       .label("zone", i < 8 ? "z1" : "z2")
                       .label("rack", fmt::format("r{}", i / 2))
                       .build());
    by_node.push_back(1);
  }
  const TopologyTree tree(state, kLevels);
  const RoomByDomain room(tree, by_node, {}, 12);
  // Five do not fit into z2 (4 nodes): z1, and there two racks whole and one broken into.
  EXPECT_EQ(room.share_out(0, 5).size(), 3U);
  EXPECT_EQ(room.share_out(0, 4).size(), 2U) << "z2 fits best";
}

class Levels : public ShareOut {};

TEST_F(Levels, NodesWithoutALabelAreUnitsOfTheirOwn) {
  const auto add = [&](std::string_view name, std::string_view zone, std::string_view rack) {
    auto builder = node(name);
    if (!zone.empty()) {
      builder.label("zone", zone);
    }
    if (!rack.empty()) {
      builder.label("rack", rack);
    }
    state.set_node(builder.build());
  };
  add("a", "z1", "r1");
  add("b", "z1", "r1");
  add("c", "z1", ""); // beside racks, in none
  add("d", "z2", ""); // a zone without racks
  add("e", "z2", "");
  add("f", "", "r1"); // in no zone, but together
  add("g", "", "r1");
  add("h", "", "");
  const SpreadLevels levels(TopologyTree(state, kLevels), state.node_slots(), "");
  const auto units = [&](std::size_t level) {
    std::vector<std::uint32_t> found;
    for (const sched::NodeId node : state.nodes()) {
      found.push_back(levels.unit(level, node));
    }
    return found;
  };
  ASSERT_EQ(levels.depth(), 2U);
  const auto groups = [](const std::vector<std::uint32_t>& of_nodes) {
    std::map<std::uint32_t, char> letters;
    std::string text;
    for (const std::uint32_t unit : of_nodes) {
      text += letters.try_emplace(unit, static_cast<char>('A' + letters.size())).first->second;
    }
    return text;
  };
  EXPECT_EQ(groups(units(0)), "AAABBCCD");
  EXPECT_EQ(groups(units(1)), "AABCCDDE");
}

TEST_F(Levels, ARequiredLevelComesFirst) {
  state.set_node(node("a").label("zone", "z1").label("rack", "r1").build());
  state.set_node(node("b").label("zone", "z1").build());
  const SpreadLevels levels(TopologyTree(state, kLevels), state.node_slots(), "rack");
  ASSERT_EQ(levels.depth(), 3U);
  EXPECT_EQ(levels.unit(0, *state.find_node("a")), 0U);
  EXPECT_EQ(levels.unit(0, *state.find_node("b")), SpreadLevels::kNowhere);
}

} // namespace
} // namespace berth::gang
