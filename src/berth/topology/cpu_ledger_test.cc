#include "berth/topology/cpu_ledger.h"

#include <algorithm>
#include <map>
#include <set>

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
PodAsk pod(std::string uid, std::vector<ContainerAsk> containers) {
  return {.pod_uid = std::move(uid), .containers = std::move(containers)};
}
ContainerAsk app(int cpus, std::string name = "main") {
  return {.name = std::move(name), .phase = Phase::App, .cpus = cpus, .memory = {}};
}
ContainerAsk init(int cpus, std::string name = "init") {
  return {.name = std::move(name), .phase = Phase::Init, .cpus = cpus, .memory = {}};
}
ContainerAsk sidecar(int cpus, std::string name = "side") {
  return {.name = std::move(name), .phase = Phase::Sidecar, .cpus = cpus, .memory = {}};
}

// Two sockets, one node each, of four cores with two threads: 0-3,8-11 and 4-7,12-15. The first
// core is reserved.
CpuLedger ledger(const CpuOptions& options = {}, CpuSet reserved = {0, 8}) {
  return {std::make_shared<const Machine>(test::numa_machine({})),
          {.policy = CpuPolicy::Static, .options = options, .reserved = std::move(reserved)}};
}

std::string own(const CpuLedger& of, std::string_view uid, std::string_view container = "main") {
  return of.find(uid, container).value_or(CpuSet()).to_string();
}

TEST(CpuLedger, GivesWholeCoresAndLeavesTheRestShared) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {app(4)});
  ASSERT_TRUE(cpus.assign(a, a.containers[0], std::nullopt));
  EXPECT_EQ(own(cpus, "a"), "1-2,9-10");
  EXPECT_EQ(cpus.shared_pool().to_string(), "0,3-8,11-15");
  EXPECT_EQ(cpus.available().to_string(), "3-7,11-15");
  cpus.erase_pod("a");
  EXPECT_EQ(cpus.shared_pool().to_string(), "0-15");
}

TEST(CpuLedger, WithAStrictReservationReservedCpusAreNotShared) {
  EXPECT_EQ(ledger({.strict_cpu_reservation = true}).shared_pool().to_string(), "1-7,9-15");
}

TEST(CpuLedger, WhoAsksForNoneHasNoneAndNoHints) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {app(0)});
  ASSERT_TRUE(cpus.assign(a, a.containers[0], std::nullopt));
  EXPECT_THAT(cpus.all(), IsEmpty());
  EXPECT_THAT(cpus.hints(a, a.containers[0], Source::Any), IsEmpty());
  EXPECT_THAT(cpus.pod_hints(a), IsEmpty());
}

TEST(CpuLedger, WithoutAPolicyNothingIsGiven) {
  CpuLedger none;
  const PodAsk a = pod("a", {app(4)});
  ASSERT_TRUE(none.assign(a, a.containers[0], std::nullopt));
  EXPECT_THAT(none.all(), IsEmpty());
  EXPECT_THAT(none.hints(a, a.containers[0], Source::Any), IsEmpty());
}

TEST(CpuLedger, TheHintsNodesComeFirst) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {app(10)});
  ASSERT_TRUE(cpus.assign(a, a.containers[0], NumaMask::of({1})));
  EXPECT_EQ(own(cpus, "a"), "1,4-7,9,12-15") << "what node 1 lacks comes from elsewhere";
}

TEST(CpuLedger, WithAlignBySocketItsSocketsNodesComeFirst) {
  CpuLedger cpus(
      std::make_shared<const Machine>(
          test::numa_machine({.nodes_per_socket = 2, .cores_per_node = 2, .threads = 1})),
      {.policy = CpuPolicy::Static, .options = {.align_by_socket = true}, .reserved = CpuSet{0}});
  // Nodes 0 and 1 are CPUs 0-3, nodes 2 and 3 are CPUs 4-7.
  const PodAsk a = pod("a", {app(3)});
  ASSERT_TRUE(cpus.assign(a, a.containers[0], NumaMask::of({3})));
  EXPECT_EQ(own(cpus, "a"), "4-6") << "of node 3's socket, node 2 whole first";
  const PodAsk b = pod("b", {app(2)});
  const auto hints = cpus.hints(b, b.containers[0], Source::Any);
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_THAT(*hints[0].hints, ::testing::Contains(on({0, 1}, true)));
  EXPECT_THAT(*hints[0].hints, ::testing::Contains(on({1, 2}, false)))
      << "two sockets, where one would do";
}

TEST(CpuLedger, WhoHasItsCpusKeepsThem) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {app(2)});
  ASSERT_TRUE(cpus.assign(a, a.containers[0], NumaMask::of({1})));
  const std::string before = own(cpus, "a");
  ASSERT_TRUE(cpus.assign(a, a.containers[0], NumaMask::of({0})));
  EXPECT_EQ(own(cpus, "a"), before);
  const auto hints = cpus.hints(a, a.containers[0], Source::Any);
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_THAT(*hints[0].hints, ElementsAre(on({1}, true), on({0, 1}, false)));
  const PodAsk more = pod("a", {app(4)});
  EXPECT_THAT(*cpus.hints(more, more.containers[0], Source::Any)[0].hints, IsEmpty())
      << "another number than it has";
}

TEST(CpuLedger, FullCoresOnlyRefusesOddNumbersAndBrokenCores) {
  CpuLedger cpus = ledger({.full_pcpus_only = true}, CpuSet{0});
  const PodAsk odd = pod("a", {app(3)});
  auto refused = cpus.assign(odd, odd.containers[0], std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(),
            (Refusal{"SMTAlignmentError",
                     "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"}));
  const PodAsk all = pod("b", {app(14)});
  ASSERT_TRUE(cpus.assign(all, all.containers[0], std::nullopt));
  EXPECT_FALSE(cpus.find("b", "main")->has(8)) << "its core's other thread is reserved";
  const PodAsk more = pod("c", {app(2)});
  refused = cpus.assign(more, more.containers[0], std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 0, "
            "requested CPUs = 2, CPUs per core = 2");
}

TEST(CpuLedger, TooFewCpusAreRefused) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {app(15)});
  const auto refused = cpus.assign(a, a.containers[0], std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error(),
      (Refusal{"", "not enough cpus available to satisfy request: requested=15, available=14"}));
  EXPECT_THAT(cpus.all(), IsEmpty());
}

TEST(CpuLedger, AnInitContainerRunsOnItsAppContainersCpus) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {init(2), app(4)});
  ASSERT_TRUE(cpus.assign(a, a.containers[1], NumaMask::of({1})));
  ASSERT_TRUE(cpus.assign(a, a.containers[0], std::nullopt));
  EXPECT_EQ(own(cpus, "a"), "4-5,12-13");
  EXPECT_EQ(own(cpus, "a", "init"), "4,12");
  const auto hints =
      cpus.hints(pod("a", {init(2, "second"), app(4)}), init(2, "second"), Source::OwnPod);
  EXPECT_THAT(*hints[0].hints, ElementsAre(on({1}, true), on({0, 1}, false)));
}

TEST(CpuLedger, AGreaterInitContainerTakesMore) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {init(6), app(4)});
  ASSERT_TRUE(cpus.assign(a, a.containers[1], NumaMask::of({1})));
  ASSERT_TRUE(cpus.assign(a, a.containers[0], NumaMask::of({1})));
  EXPECT_EQ(own(cpus, "a", "init"), "4-6,12-14");
  EXPECT_THAT(cpus.available(), SizeIs(8));
  cpus.erase("a", "init");
  EXPECT_THAT(cpus.available(), SizeIs(10));
}

TEST(CpuLedger, ASidecarSharesOnlyWithInitContainersBeforeIt) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {init(2, "before"), sidecar(2), init(2, "after"), app(2)});
  for (const std::size_t each : {1u, 3u, 0u, 2u}) {
    ASSERT_TRUE(cpus.assign(a, a.containers[each], NumaMask::of({1})));
  }
  EXPECT_EQ(own(cpus, "a", "side"), "4,12");
  EXPECT_EQ(own(cpus, "a"), "5,13");
  EXPECT_EQ(own(cpus, "a", "after"), "5,13");
  EXPECT_THAT(cpus.available(), SizeIs(10)) << "no more than sidecar and app container";
}

TEST(CpuLedger, APodsHintsAreForAllItUsesAtATime) {
  CpuLedger cpus = ledger();
  const PodAsk a = pod("a", {init(4), app(4, "one"), app(4, "two")});
  const auto hints = cpus.pod_hints(a);
  ASSERT_THAT(hints, SizeIs(1));
  EXPECT_EQ(hints[0].resource, "cpu");
  EXPECT_THAT(*hints[0].hints, ElementsAre(on({1}, true), on({0, 1}, false)));
}

TEST(CpuLedger, WhatWasFoundIsTakenInUnlessItContradicts) {
  CpuLedger cpus = ledger();
  EXPECT_TRUE(cpus.record({.pod_uid = "a", .container = "main", .cpus = {1, 9}}));
  EXPECT_FALSE(cpus.record({.pod_uid = "b", .container = "main", .cpus = {9, 10}}));
  EXPECT_FALSE(cpus.record({.pod_uid = "b", .container = "main", .cpus = {0}})) << "reserved";
  EXPECT_FALSE(cpus.record({.pod_uid = "b", .container = "main", .cpus = {99}})) << "not there";
  EXPECT_FALSE(cpus.record({.pod_uid = "b", .container = "main", .cpus = {}}));
  EXPECT_TRUE(cpus.record({.pod_uid = "a", .container = "init", .cpus = {9, 10}}));
  EXPECT_THAT(cpus.all(), SizeIs(2));
}

// Random lives of pods: no CPU is two pods' at a time, nor two running containers'; what is given
// is what was asked; what goes comes back; hints agree with every set looked at one by one.
class CpuLives : public ::testing::TestWithParam<int> {};

std::vector<Hint> hints_by_rule(const Machine& machine, const CpuSet& free, int request) {
  std::vector<Hint> hints;
  int fewest = machine.nodes_with_cpus().count();
  for (std::uint64_t bits = 1; bits <= machine.nodes_with_cpus().bits(); ++bits) {
    const NumaMask set(bits);
    int all = 0;
    int has = 0;
    for (const Cpu& cpu : machine.cpus) {
      all += set.has(cpu.numa);
      has += set.has(cpu.numa) && free.has(cpu.id);
    }
    if (all >= request) {
      fewest = std::min(fewest, set.count());
    }
    if (has >= request) {
      hints.push_back({.affinity = set, .preferred = false});
    }
  }
  for (Hint& hint : hints) {
    hint.preferred = hint.affinity->count() == fewest;
  }
  return hints;
}

void expect_disjoint(const CpuLedger& cpus, const std::map<std::string, PodAsk>& pods) {
  const auto all = cpus.all();
  for (const CpuAssignment& one : all) {
    for (const CpuAssignment& other : all) {
      const bool same = one.pod_uid == other.pod_uid && one.container == other.container;
      const bool beside = one.pod_uid != other.pod_uid ||
                          pods.at(one.pod_uid).runs_beside(one.container, other.container);
      if (!same && beside) {
        ASSERT_FALSE(one.cpus.meets(other.cpus))
            << one.pod_uid << "/" << one.container << " and " << other.pod_uid << "/"
            << other.container << " have " << (one.cpus & other.cpus).to_string();
      }
    }
    ASSERT_EQ(one.cpus.count(), pods.at(one.pod_uid).find(one.container)->cpus);
    ASSERT_FALSE(cpus.shared_pool().meets(one.cpus));
    ASSERT_FALSE(cpus.rules().reserved.meets(one.cpus));
  }
}

PodAsk random_pod(Rng& rng, std::string uid, int threads) {
  PodAsk ask = pod(std::move(uid), {});
  const auto cpus = [&] { return static_cast<int>(rng.between(0, 3)) * threads; };
  for (std::int64_t i = rng.between(0, 2); i > 0; --i) {
    const std::string name = fmt::format("i{}", i);
    ask.containers.push_back(rng.chance(1, 3) ? sidecar(cpus(), name) : init(cpus(), name));
  }
  for (std::int64_t i = rng.between(1, 2); i > 0; --i) {
    ask.containers.push_back(app(cpus(), fmt::format("c{}", i)));
  }
  return ask;
}

TEST_P(CpuLives, NoCpuIsGivenTwiceAndAllComeBack) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  const int threads = static_cast<int>(rng.between(1, 2));
  const auto machine = std::make_shared<const Machine>(
      test::numa_machine({.sockets = 2,
                          .nodes_per_socket = static_cast<int>(rng.between(1, 2)),
                          .cores_per_node = 4,
                          .threads = threads,
                          .cores_per_cache = 2}));
  const CpuRules rules{.policy = CpuPolicy::Static,
                       .options = {.full_pcpus_only = rng.chance(1, 3),
                                   .distribute_cpus_across_numa = rng.chance(1, 3)},
                       .reserved = CpuSet{0}};
  CpuLedger cpus(machine, rules);
  const CpuSet idle = cpus.available();
  std::map<std::string, PodAsk> pods;
  for (int turn = 0; turn < 120; ++turn) {
    const std::string uid = fmt::format("p{}", rng.below(5));
    if (pods.erase(uid) > 0) {
      cpus.erase_pod(uid);
    } else {
      const PodAsk ask = random_pod(rng, uid, threads);
      pods[uid] = ask;
      // Lasting containers first, as the agent does it.
      std::vector<const ContainerAsk*> order;
      for (const bool lasting : {true, false}) {
        for (const ContainerAsk& each : ask.containers) {
          if ((each.phase != Phase::Init) == lasting) {
            order.push_back(&each);
          }
        }
      }
      for (const ContainerAsk* each : order) {
        if (each->phase == Phase::App && each->cpus > 0 && !rules.options.full_pcpus_only) {
          const auto hints = cpus.hints(ask, *each, Source::Any);
          ASSERT_THAT(hints, SizeIs(1));
          ASSERT_EQ(*hints[0].hints, hints_by_rule(*machine, cpus.available(), each->cpus));
        }
        const auto given = cpus.assign(
            ask, *each, rng.chance(1, 2) ? std::optional(NumaMask::single(1)) : std::nullopt);
        if (!given) {
          cpus.erase_pod(uid);
          pods.erase(uid);
          break;
        }
      }
      if (pods.contains(uid)) {
        CpuSet used;
        for (const CpuAssignment& each : cpus.all()) {
          used = each.pod_uid == uid ? used | each.cpus : used;
        }
        ASSERT_EQ(used.count(), pod_cpus(ask)) << "no more than it uses at a time";
      }
    }
    expect_disjoint(cpus, pods);
    // A restart reads what was written.
    CpuLedger again(machine, rules);
    for (const CpuAssignment& each : cpus.all()) {
      ASSERT_TRUE(again.record(each));
    }
    ASSERT_EQ(again.available(), cpus.available());
  }
  for (const auto& [uid, ask] : pods) {
    cpus.erase_pod(uid);
  }
  EXPECT_EQ(cpus.available(), idle);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CpuLives, ::testing::Range(1, 31));

} // namespace
} // namespace berth::topology
