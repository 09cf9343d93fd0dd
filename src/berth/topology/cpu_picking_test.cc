#include "berth/topology/cpu_picking.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/numa_machines.h"

namespace berth::topology {
namespace {

using Caches = PickRules::Caches;
using Cores = PickRules::Cores;

// Two sockets, one NUMA node each, four cores of two threads: CPUs 0-3,8-11 and 4-7,12-15.
Machine two_sockets() {
  return test::numa_machine({});
}

struct Case {
  const char* name;
  const char* available;
  int count;
  const char* want;
  PickRules rules = {};
};
class Packed : public ::testing::TestWithParam<Case> {};

TEST_P(Packed, TakesTheWholeBeforeTheParts) {
  const auto got = take_packed(two_sockets(), CpuSet::parse(GetParam().available).value(),
                               GetParam().count, GetParam().rules);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->to_string(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, Packed,
    ::testing::Values(Case{"None", "0-15", 0, ""}, Case{"OneThread", "0-15", 1, "0"},
                      Case{"OneCore", "0-15", 2, "0,8"}, Case{"ThreeThreads", "0-15", 3, "0-1,8"},
                      Case{"AWholeSocket", "0-15", 8, "0-3,8-11"},
                      Case{"TheSocketThatIsWholeRatherThanTheFirst", "1-15", 8, "4-7,12-15"},
                      Case{"ASocketAndACore", "0-15", 10, "0-4,8-12"},
                      Case{"Everything", "0-15", 16, "0-15"},
                      Case{"TheSocketWithLessLeft", "0-4,8-12", 2, "4,12"},
                      Case{"AThreadOfABrokenCoreFirst", "0-3,9-11", 1, "0"},
                      Case{"AWholeCoreBeforeBrokenOnes", "0-3,11", 2, "3,11"},
                      Case{"SpreadOverCores", "0-15", 4, "0-3", {.cores = Cores::Distributed}}),
    [](const auto& each) { return each.param.name; });

TEST(Packed, SaysWhatIsMissing) {
  const auto got = take_packed(two_sockets(), CpuSet{1, 2}, 3, {});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message,
            "not enough cpus available to satisfy request: requested=3, available=2");
  EXPECT_EQ(got.error().reason, "");
}

// Two NUMA nodes of eight cores, two groups of four cores around a cache in each, one thread.
Machine two_caches_a_node() {
  return test::numa_machine({.cores_per_node = 8, .threads = 1, .cores_per_cache = 4});
}

TEST(AroundCaches, AWholeGroupIsTakenWhole) {
  const PickRules rules{.caches = Caches::Aligned};
  // 0 is gone: 4-7 is whole, and both nodes' first groups are as good only without the rule.
  const CpuSet available = CpuSet::parse("1-15").value();
  EXPECT_EQ(take_packed(two_caches_a_node(), available, 4, rules)->to_string(), "4-7");
  EXPECT_EQ(take_packed(two_caches_a_node(), available, 4, {})->to_string(), "1-4");
}

TEST(AroundCaches, ASmallRequestStaysInOneGroup) {
  const PickRules rules{.caches = Caches::Aligned};
  const CpuSet available = CpuSet::parse("2-15").value();
  EXPECT_EQ(take_packed(two_caches_a_node(), available, 2, rules)->to_string(), "2-3");
  EXPECT_EQ(take_packed(two_caches_a_node(), available, 3, rules)->to_string(), "4-6");
  EXPECT_EQ(take_packed(two_caches_a_node(), available, 3, {})->to_string(), "2-4");
}

TEST(AroundCaches, AnOddRequestTakesOneThreadOfItsLastCore) {
  const Machine machine = test::numa_machine({.cores_per_node = 8, .cores_per_cache = 4});
  const PickRules rules{.caches = Caches::Aligned};
  EXPECT_EQ(take_packed(machine, machine.all_cpus(), 3, rules)->to_string(), "0-1,16");
}

struct ShareCase {
  const char* name;
  const char* available;
  int count;
  int group;
  const char* want;
};
class Distributed : public ::testing::TestWithParam<ShareCase> {};

TEST_P(Distributed, SharesAreEqual) {
  const auto got = take_distributed(two_sockets(), CpuSet::parse(GetParam().available).value(),
                                    GetParam().count, GetParam().group, {});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->to_string(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, Distributed,
    ::testing::Values(ShareCase{"OneNodeIsEnough", "0-15", 4, 1, "0-1,8-9"},
                      ShareCase{"TwoNodesHalfEach", "0-15", 10, 1, "0-2,4-6,8-9,12-13"},
                      ShareCase{"InWholeCores", "0-15", 12, 2, "0-2,4-6,8-10,12-14"},
                      ShareCase{"TheRestGoesToTheFirst", "0-15", 10, 2, "0-2,4-5,8-10,12-13"},
                      ShareCase{"ThreadsThatMakeNoGroupArePacked", "0-15", 3, 2, "0-1,8"},
                      ShareCase{"SharesThatCannotBeArePacked", "0-3,8-12", 9, 1, "0-3,8-12"}),
    [](const auto& each) { return each.param.name; });

// Whatever is asked: as many as asked, of those that are free, and the same again for the same.
class Picks : public ::testing::TestWithParam<int> {};

TEST_P(Picks, WhatIsTakenIsFreeAndAsMuchAsAsked) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  for (int turn = 0; turn < 60; ++turn) {
    const Machine machine =
        test::numa_machine({.sockets = static_cast<int>(rng.between(1, 3)),
                            .nodes_per_socket = static_cast<int>(rng.between(1, 3)),
                            .cores_per_node = static_cast<int>(rng.between(1, 6)),
                            .threads = static_cast<int>(rng.between(1, 2)),
                            .cores_per_cache = static_cast<int>(rng.between(1, 4))});
    std::vector<int> ids;
    for (const Cpu& cpu : machine.cpus) {
      if (rng.chance(3, 4)) {
        ids.push_back(cpu.id);
      }
    }
    const CpuSet available(ids);
    const PickRules rules{.caches = rng.chance(1, 2) ? Caches::Aligned : Caches::Ignored,
                          .cores = rng.chance(1, 3) ? Cores::Distributed : Cores::Packed};
    const int count = static_cast<int>(rng.between(0, available.count() + 1));
    const int group = static_cast<int>(rng.between(1, 2));
    for (const bool distribute : {false, true}) {
      const auto take = [&] {
        return distribute ? take_distributed(machine, available, count, group, rules)
                          : take_packed(machine, available, count, rules);
      };
      const auto got = take();
      ASSERT_EQ(got.has_value(), count <= available.count()) << "turn " << turn;
      if (got) {
        ASSERT_EQ(got->count(), count) << "turn " << turn;
        ASSERT_TRUE(available.contains(*got)) << "turn " << turn;
        ASSERT_EQ(take(), got);
      }
    }
  }
}

// On an idle machine packing breaks no more NUMA nodes and no more cores than it must.
TEST_P(Picks, PackingBreaksAsLittleAsPossible) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  for (int turn = 0; turn < 60; ++turn) {
    const int cores = static_cast<int>(rng.between(1, 6));
    const int threads = static_cast<int>(rng.between(1, 2));
    const Machine machine = test::numa_machine(
        {.sockets = 2, .nodes_per_socket = 2, .cores_per_node = cores, .threads = threads});
    const int count = static_cast<int>(rng.between(1, 4 * cores * threads));
    const CpuSet got = take_packed(machine, machine.all_cpus(), count, {}).value();
    std::set<int> used_nodes;
    std::set<int> used_cores;
    for (const Cpu& cpu : machine.cpus) {
      if (got.has(cpu.id)) {
        used_nodes.insert(cpu.numa);
        used_cores.insert(cpu.core);
      }
    }
    const auto up = [](int a, int b) { return static_cast<std::size_t>((a + b - 1) / b); };
    ASSERT_EQ(used_nodes.size(), up(count, cores * threads)) << count << " of " << cores;
    ASSERT_EQ(used_cores.size(), up(count, threads)) << count << " of " << cores;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Picks, ::testing::Range(1, 21));

} // namespace
} // namespace berth::topology
