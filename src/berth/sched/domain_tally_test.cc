// Topology and DomainTally over random changes, against sums taken anew.
#include "berth/sched/domain_tally.h"

#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/seeds.h"

namespace berth::sched {
namespace {

using testing::UnorderedElementsAreArray;

class TallyHistory : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::uint32_t kNodes = 12;

  void relabel() {
    const auto node = static_cast<std::uint32_t>(rng.below(kNodes));
    const std::string value = fmt::format("v{}", rng.below(5));
    if (rng.chance(1, 5)) {
      topology.set(NodeId(node), nullptr);
      labels.erase(node);
    } else {
      topology.set(NodeId(node), &value);
      labels[node] = value;
    }
  }
  /// The tally hears of a label later, or counts the node out whatever its label.
  void move_home() {
    const auto node = static_cast<std::uint32_t>(rng.below(kNodes));
    const bool counts = labels.contains(node) && rng.chance(4, 5);
    tally.set_home(NodeId(node), counts ? topology.domain_of(NodeId(node)) : DomainId());
    homes.erase(node);
    if (counts) {
      homes[node] = labels.at(node);
    }
  }
  void count() {
    const auto node = static_cast<std::uint32_t>(rng.below(kNodes));
    const auto amount = static_cast<std::int64_t>(rng.below(5)) - 2;
    tally.add(NodeId(node), amount);
    amounts[node] += amount;
  }

  void expect_members() {
    std::map<std::string, std::set<NodeId>> by_value;
    for (const auto& [node, value] : labels) {
      by_value[value].insert(NodeId(node));
    }
    EXPECT_EQ(topology.inhabited(), by_value.size());
    for (const auto& [value, nodes] : by_value) {
      EXPECT_THAT(topology.members(topology.domain_of(*nodes.begin())),
                  UnorderedElementsAreArray(nodes));
    }
    for (std::uint32_t node = 0; node < kNodes + 3; ++node) {
      EXPECT_EQ(topology.domain_of(NodeId(node)).valid(), labels.contains(node));
    }
  }

  void expect_sums() {
    std::map<std::string, std::int64_t> sums;
    for (const auto& [node, value] : homes) {
      sums[value] += amounts[node];
    }
    std::int64_t nonzero = 0;
    std::optional<std::int64_t> least;
    for (const auto& [value, sum] : sums) {
      nonzero += sum != 0 ? 1 : 0;
      least = std::min(least.value_or(sum), sum);
    }
    EXPECT_EQ(tally.inhabited(), std::ssize(sums));
    EXPECT_EQ(tally.nonzero(), nonzero);
    EXPECT_EQ(tally.least(), least.value_or(0));
    for (std::uint32_t node = 0; node < kNodes; ++node) {
      EXPECT_EQ(tally.of_node(NodeId(node)), amounts[node]);
      EXPECT_EQ(tally.at(tally.home(NodeId(node))),
                homes.contains(node) ? sums.at(homes.at(node)) : 0);
    }
  }

  Rng rng{GetParam()};
  Topology topology{"zone"};
  DomainTally tally{topology, DomainTally::Order::Ordered};
  std::map<std::uint32_t, std::string> labels;
  std::map<std::uint32_t, std::string> homes;
  std::map<std::uint32_t, std::int64_t> amounts;
};

TEST_P(TallyHistory, EqualsSumsTakenAnew) {
  for (int step = 0; step < 200 && !HasFailure(); ++step) {
    relabel();
    move_home();
    count();
    expect_members();
    expect_sums();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, TallyHistory, test::seeds(20));

} // namespace
} // namespace berth::sched
