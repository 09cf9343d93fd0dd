#include "berth/topology/memory_ledger.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/numa_machines.h"

namespace berth::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Phase = ContainerAsk::Phase;

Hint on(std::vector<int> nodes, bool preferred) {
  return {.affinity = NumaMask::of(nodes), .preferred = preferred};
}
const Hint kNoHint{.affinity = {}, .preferred = false};

ContainerAsk wants(std::int64_t bytes, std::string name = "main", Phase phase = Phase::App) {
  return {.name = std::move(name), .phase = phase, .cpus = 0, .memory = {{"memory", bytes}}};
}
PodAsk pod(std::string uid, std::vector<ContainerAsk> containers) {
  return {.pod_uid = std::move(uid), .containers = std::move(containers)};
}

// Three nodes of 100 bytes, of which node 0 keeps 10.
MemoryLedger ledger() {
  Machine machine = test::numa_machine({.sockets = 3, .memory_per_node = 100});
  return {std::make_shared<const Machine>(std::move(machine)),
          {.policy = MemoryPolicy::Static, .reserved = {{0, {{"memory", 10}}}}}};
}

Granted<void> give(MemoryLedger& memory, const PodAsk& ask, const Hint& hint = kNoHint) {
  return memory.assign(ask, ask.containers[0], hint);
}

TEST(MemoryLedger, KnowsWhatIsReserved) {
  EXPECT_EQ(ledger().free(NumaMask::of({0}), "memory"), 90);
  EXPECT_EQ(ledger().free(NumaMask::of({0, 2}), "memory"), 190);
  EXPECT_EQ(ledger().free(NumaMask::of({0}), "hugepages-2Mi"), 0);
}

TEST(MemoryLedger, PrefersAsFewNodesAsAnEmptyMachineNeeds) {
  const PodAsk a = pod("a", {wants(95)});
  const auto hints = ledger().hints(a, a.containers[0]);
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_EQ(hints[0].resource, "memory");
  EXPECT_THAT(*hints[0].hints,
              ElementsAre(on({1}, true), on({0, 1}, false), on({2}, true), on({0, 2}, false),
                          on({1, 2}, false), on({0, 1, 2}, false)));
}

TEST(MemoryLedger, WithoutAHintTakesTheNarrowestPreferred) {
  MemoryLedger memory = ledger();
  ASSERT_TRUE(give(memory, pod("a", {wants(95)})));
  EXPECT_EQ(memory.find("a", "main")->nodes, NumaMask::of({1}));
  EXPECT_EQ(memory.free(NumaMask::of({1}), "memory"), 5);
}

TEST(MemoryLedger, ANodeOfAGroupIsNobodyElses) {
  MemoryLedger memory = ledger();
  ASSERT_TRUE(give(memory, pod("a", {wants(150)}), on({0, 1}, true)));
  const PodAsk b = pod("b", {wants(20)});
  EXPECT_THAT(*memory.hints(b, b.containers[0])[0].hints,
              ElementsAre(on({0, 1}, false), on({2}, true)))
      << "the group as a group, or the node that is in none";
  const auto refused = give(memory, b, on({1, 2}, false));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "[memorymanager] preferred hint violates NUMA node allocation");
  ASSERT_TRUE(give(memory, pod("c", {wants(20)}), on({0, 1}, false)));
  EXPECT_EQ(memory.free(NumaMask::of({0, 1}), "memory"), 20);
}

TEST(MemoryLedger, ANodeThatIsUsedAloneJoinsNoGroup) {
  MemoryLedger memory = ledger();
  ASSERT_TRUE(give(memory, pod("a", {wants(20)}), on({0}, true)));
  const PodAsk b = pod("b", {wants(150)});
  EXPECT_THAT(*memory.hints(b, b.containers[0])[0].hints, ElementsAre(on({1, 2}, true)));
  memory.erase_pod("a");
  EXPECT_THAT(*memory.hints(b, b.containers[0])[0].hints, SizeIs(4));
}

TEST(MemoryLedger, AHintThatIsTooSmallIsExtended) {
  MemoryLedger memory = ledger();
  ASSERT_TRUE(give(memory, pod("a", {wants(150)}), on({1}, false)));
  EXPECT_EQ(memory.find("a", "main")->nodes, NumaMask::of({0, 1}));
}

TEST(MemoryLedger, SaysWhatItCannotFind) {
  MemoryLedger memory = ledger();
  EXPECT_EQ(give(memory, pod("a", {wants(500)})).error().message,
            "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
            "memory is available");
  EXPECT_EQ(give(memory, pod("a", {wants(500)}), on({0}, true)).error().message,
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
  ASSERT_TRUE(give(memory, pod("b", {wants(60)}), on({0}, true)));
  ASSERT_TRUE(give(memory, pod("c", {wants(60)}), on({1}, true)));
  ASSERT_TRUE(give(memory, pod("d", {wants(60)}), on({2}, true)));
  const PodAsk e = pod("e", {wants(50)});
  EXPECT_THAT(*memory.hints(e, e.containers[0])[0].hints, IsEmpty());
  memory.erase_pod("d");
  memory.erase_pod("c");
  // Two nodes where one would do on an empty machine are not what a preferred hint promised.
  ASSERT_TRUE(give(memory, pod("c", {wants(60)}), on({1, 2}, false)));
  EXPECT_EQ(give(memory, e, {.affinity = {}, .preferred = true}).error().message,
            "[memorymanager] failed to find the default preferred hint");
  EXPECT_EQ(give(memory, e, on({1}, true)).error().message,
            "[memorymanager] failed to find the extended preferred hint");
}

TEST(MemoryLedger, KindsOfMemoryGoTogether) {
  Machine machine = test::numa_machine({.memory_per_node = 100});
  machine.nodes[1].memory["hugepages-2Mi"] = 8;
  MemoryLedger memory(std::make_shared<const Machine>(std::move(machine)),
                      {.policy = MemoryPolicy::Static, .reserved = {}});
  ContainerAsk both = wants(20);
  both.memory["hugepages-2Mi"] = 6;
  const PodAsk a = pod("a", {both});
  const auto hints = memory.hints(a, both);
  ASSERT_THAT(hints, SizeIs(2));
  EXPECT_EQ(hints[0].hints, hints[1].hints);
  ASSERT_TRUE(give(memory, a));
  EXPECT_EQ(memory.find("a", "main")->nodes, NumaMask::of({1}));
  EXPECT_EQ(memory.free(NumaMask::of({1}), "hugepages-2Mi"), 2);
  EXPECT_EQ(memory.free(NumaMask::of({1}), "memory"), 80);
}

TEST(MemoryLedger, AnInitContainerUsesItsAppContainersMemory) {
  MemoryLedger memory = ledger();
  const PodAsk a = pod("a", {wants(70, "init", Phase::Init), wants(50, "main")});
  ASSERT_TRUE(memory.assign(a, a.containers[1], on({1}, true)));
  ASSERT_TRUE(memory.assign(a, a.containers[0], on({1}, true)));
  EXPECT_EQ(memory.free(NumaMask::of({1}), "memory"), 30) << "the greater of the two";
  memory.erase("a", "init");
  EXPECT_EQ(memory.free(NumaMask::of({1}), "memory"), 50);
}

TEST(MemoryLedger, WhoHasMemoryKeepsItsNodes) {
  MemoryLedger memory = ledger();
  const PodAsk a = pod("a", {wants(50)});
  ASSERT_TRUE(give(memory, a, on({2}, true)));
  ASSERT_TRUE(give(memory, a, on({0}, true)));
  EXPECT_EQ(memory.find("a", "main")->nodes, NumaMask::of({2}));
  EXPECT_THAT(*memory.hints(a, a.containers[0])[0].hints, ElementsAre(on({2}, true)));
  EXPECT_THAT(*memory.pod_hints(a)[0].hints, ElementsAre(on({2}, true)));
}

TEST(MemoryLedger, WithoutAPolicyNothingIsGiven) {
  MemoryLedger none;
  const PodAsk a = pod("a", {wants(50)});
  ASSERT_TRUE(give(none, a));
  EXPECT_THAT(none.all(), IsEmpty());
  EXPECT_THAT(none.hints(a, a.containers[0]), IsEmpty());
  EXPECT_FALSE(
      none.record({.pod_uid = "a", .container = "c", .nodes = NumaMask(1), .amounts = {}}));
}

TEST(MemoryLedger, WhatWasFoundIsTakenInUnlessItContradicts) {
  MemoryLedger memory = ledger();
  const auto found = [](std::string uid, std::vector<int> nodes, std::int64_t bytes) {
    return MemoryAssignment{.pod_uid = std::move(uid),
                            .container = "main",
                            .nodes = NumaMask::of(nodes),
                            .amounts = {{"memory", bytes}}};
  };
  EXPECT_TRUE(memory.record(found("a", {0, 1}, 100)));
  EXPECT_FALSE(memory.record(found("b", {1}, 1))) << "in a group already";
  EXPECT_FALSE(memory.record(found("b", {0, 1}, 91))) << "more than is left";
  EXPECT_FALSE(memory.record(found("b", {7}, 1))) << "no such node";
  EXPECT_FALSE(memory.record(found("b", {}, 1)));
  EXPECT_FALSE(memory.record(found("b", {2}, -1)));
  EXPECT_FALSE(memory.record(found("a", {2}, 101))) << "and what there was stays";
  EXPECT_EQ(memory.find("a", "main")->nodes, NumaMask::of({0, 1}));
  EXPECT_TRUE(memory.record(found("a", {2}, 100)));
  EXPECT_THAT(memory.all(), SizeIs(1));
}

// Random lives: nodes are in one group at a time, no group gives more than it has, all comes back,
// and hints are the sets on which it could be given.
class MemoryLives : public ::testing::TestWithParam<int> {};

TEST_P(MemoryLives, NoMemoryIsGivenTwiceAndAllComesBack) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  MemoryLedger memory = ledger();
  for (int turn = 0; turn < 150; ++turn) {
    const std::string uid = fmt::format("p{}", rng.below(6));
    if (memory.find(uid, "main")) {
      memory.erase_pod(uid);
    } else {
      const std::int64_t bytes = rng.between(1, 220);
      const PodAsk ask = pod(uid, {wants(bytes)});
      const auto hints = memory.hints(ask, ask.containers[0]);
      for (std::uint64_t bits = 1; bits < 8; ++bits) {
        const NumaMask set(bits);
        const bool offered = std::ranges::any_of(
            *hints[0].hints, [&](const Hint& hint) { return hint.affinity == set; });
        MemoryLedger trial = memory;
        const bool possible = trial.record(
            {.pod_uid = uid, .container = "main", .nodes = set, .amounts = {{"memory", bytes}}});
        ASSERT_EQ(offered, possible) << set.to_string() << " for " << bytes;
      }
      const Hint hint = rng.chance(1, 2)
                            ? kNoHint
                            : Hint{.affinity = NumaMask(1 + rng.below(7)), .preferred = false};
      const auto given = give(memory, ask, hint);
      if (!hint.affinity) {
        ASSERT_EQ(given.has_value(), !hints[0].hints->empty());
      }
      if (given && hint.affinity) {
        ASSERT_TRUE(memory.find(uid, "main")->nodes.contains(*hint.affinity));
      }
    }
    for (const MemoryAssignment& one : memory.all()) {
      std::int64_t sum = 0;
      for (const MemoryAssignment& other : memory.all()) {
        ASSERT_TRUE(one.nodes == other.nodes || !one.nodes.meets(other.nodes));
        sum += one.nodes == other.nodes ? other.amounts.at("memory") : 0;
      }
      ASSERT_LE(sum, memory.allocatable(one.nodes, "memory"));
    }
  }
  for (const MemoryAssignment& each : memory.all()) {
    memory.erase_pod(each.pod_uid);
  }
  EXPECT_EQ(memory.free(NumaMask::of({0, 1, 2}), "memory"), 290);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemoryLives, ::testing::Range(1, 31));

TEST(ReserveMemory, PartsAreTheTotal) {
  const Machine machine = test::numa_machine({.sockets = 3, .memory_per_node = 100});
  const auto reserved = reserve_memory(machine, 100);
  EXPECT_EQ(reserved.at(0).at("memory"), 33);
  EXPECT_EQ(reserved.at(1).at("memory"), 33);
  EXPECT_EQ(reserved.at(2).at("memory"), 34);
  EXPECT_THAT(reserve_memory(machine, 0), IsEmpty());
}

TEST(MemoryRules, MustSuitTheMachine) {
  const Machine machine = test::numa_machine({.memory_per_node = 100});
  const auto why = [&](std::map<int, MemoryAmounts> reserved) {
    const auto checked = check_memory_rules(
        {.policy = MemoryPolicy::Static, .reserved = std::move(reserved)}, machine, 30);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(why({{0, {{"memory", 10}}}, {1, {{"memory", 20}}}}), "");
  EXPECT_EQ(why({{0, {{"memory", 10}}}}),
            "the total amount \"10\" of type \"memory\" is not equal to the value \"30\" "
            "determined by Node Allocatable feature");
  EXPECT_THAT(why({{5, {{"memory", 30}}}}), ::testing::EndsWith("does not have: 5"));
  EXPECT_EQ(why({{0, {{"memory", 101}}}}),
            "more memory is reserved on NUMA node 0 than it has: 101 of 100 bytes");
  EXPECT_TRUE(check_memory_rules({}, machine, 30));
}

} // namespace
} // namespace berth::topology
