// Zones by hand: what fits where, and what it scores.
#include "berth/sched/numa_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/cluster_state.h"
#include "berth/sched/pod_fingerprint.h"
#include "berth/testing/builders.h"

namespace berth::sched {
namespace {

using test::numa_report;
using test::NumaReportBuilder;
using test::pod;
using test::PodBuilder;

/// Request and limit, so that a pod of such containers is Guaranteed.
PodBuilder& exact(PodBuilder& builder, std::string_view cpu, std::string_view memory) {
  return builder.extended("cpu", cpu).extended("memory", memory);
}
PodBuilder guaranteed(std::string_view cpu, std::string_view memory) {
  PodBuilder builder = pod("p");
  return exact(builder, cpu, memory);
}

/// Two zones of 4 CPUs and 8Gi; a device in zone 1 only.
NumaReportBuilder two_zones() {
  return numa_report("n")
      .zone("node-0")
      .free("cpu", "4")
      .free("memory", "8Gi")
      .zone("node-1")
      .free("cpu", "4")
      .free("memory", "8Gi")
      .free("example.com/dev", "2");
}

class Numa : public testing::Test {
 protected:
  NumaMisfit misfit(const PodBuilder& builder, const NumaReportBuilder& built) {
    prepare(builder, built);
    return numa_misfit(pod_, report_, allocatable_, room_);
  }
  std::int64_t score(const PodBuilder& builder, const NumaReportBuilder& built,
                     NumaScoring scoring = {}) {
    prepare(builder, built);
    return numa_score(pod_, report_, scoring, names_, room_);
  }

 private:
  void prepare(const PodBuilder& builder, const NumaReportBuilder& built) {
    for (const char* name : {"example.com/dev", "example.com/nic"}) {
      allocatable_.set(names_.intern(name), 10);
    }
    allocatable_.set(kCpu, 64000);
    allocatable_.set(kMemory, std::int64_t{1} << 40);
    report_ = sched::numa_report(*built.build(), names_);
    pod_ = numa_pod(builder.build()->spec, names_);
    room_.clear();
    for (const NumaZone& zone : report_.zones) {
      room_.push_back(zone.available);
    }
  }

  ResourceNames names_ = make_resource_names();
  Resources allocatable_;
  NumaReport report_;
  NumaPod pod_;
  ZoneRoom room_;
};

TEST_F(Numa, AContainerMustFitOneZone) {
  EXPECT_EQ(misfit(guaranteed("4", "8Gi"), two_zones()), NumaMisfit::None);
  EXPECT_EQ(misfit(guaranteed("5", "1Gi"), two_zones()), NumaMisfit::Container);
}

TEST_F(Numa, EachContainerTakesItsZone) {
  PodBuilder two = guaranteed("3", "1Gi");
  exact(two.container("second"), "3", "1Gi");
  EXPECT_EQ(misfit(two, two_zones()), NumaMisfit::None) << "one zone each";
  exact(two.container("third"), "2", "1Gi");
  EXPECT_EQ(misfit(two, two_zones()), NumaMisfit::Container) << "1 is left in each zone";
}

TEST_F(Numa, AllResourcesComeFromTheSameZone) {
  PodBuilder device = guaranteed("2", "1Gi").extended("example.com/dev", "1");
  EXPECT_EQ(misfit(device, two_zones()), NumaMisfit::None);
  PodBuilder first = guaranteed("4", "1Gi");
  exact(first.container("with-device"), "1", "1Gi").extended("example.com/dev", "1");
  EXPECT_EQ(misfit(first, two_zones()), NumaMisfit::None) << "the first takes the lowest zone";
  exact(first.container("other"), "4", "1Gi");
  EXPECT_EQ(misfit(first, two_zones()), NumaMisfit::Container);
}

TEST_F(Numa, InitContainersFitOneAtATimeAndSidecarsStay) {
  PodBuilder builder = guaranteed("4", "1Gi");
  exact(builder.init_container("a"), "4", "1Gi");
  exact(builder.init_container("b"), "4", "1Gi");
  EXPECT_EQ(misfit(builder, two_zones()), NumaMisfit::None);
  exact(builder.init_container("big"), "5", "1Gi");
  EXPECT_EQ(misfit(builder, two_zones()), NumaMisfit::InitContainer);

  PodBuilder beside = guaranteed("3", "1Gi");
  exact(beside.sidecar("s"), "2", "1Gi");
  EXPECT_EQ(misfit(beside, two_zones()), NumaMisfit::None);
  exact(beside.container("third"), "3", "1Gi");
  EXPECT_EQ(misfit(beside, two_zones()), NumaMisfit::Container) << "2 + 3 in no zone of 4";
}

TEST_F(Numa, ScopePodTakesTheSum) {
  PodBuilder two = guaranteed("3", "1Gi");
  exact(two.container("second"), "3", "1Gi");
  EXPECT_EQ(misfit(two, two_zones().scope("pod")), NumaMisfit::Pod);
  PodBuilder fits = guaranteed("2", "1Gi");
  exact(fits.container("second"), "2", "1Gi");
  EXPECT_EQ(misfit(fits.overhead("cpu", "1"), two_zones().scope("pod")), NumaMisfit::None)
      << "the kubelet does not align overhead";
}

TEST_F(Numa, WithoutAGuaranteeCpuAndMemoryFitAnywhere) {
  EXPECT_EQ(misfit(pod("p").cpu("9").memory("99Gi"), two_zones()), NumaMisfit::None);
  EXPECT_EQ(misfit(pod("p").cpu("9").extended("example.com/dev", "3"), two_zones()),
            NumaMisfit::Container)
      << "devices do not";
}

TEST_F(Numa, WhatNoZoneListsIsNoMatterOfZonesUnlessItIsCpuOrMemory) {
  EXPECT_EQ(misfit(guaranteed("1", "1Gi").extended("example.com/nic", "1"), two_zones()),
            NumaMisfit::None);
  EXPECT_EQ(misfit(guaranteed("1", "1Gi"), numa_report("n").zone("node-0").free("cpu", "4")),
            NumaMisfit::Container);
  EXPECT_EQ(misfit(guaranteed("1", "1Gi").extended("example.com/gone", "1"), two_zones()),
            NumaMisfit::None)
      << "a name that was never seen is no ask: NodeResourcesFit refuses it";
}

TEST_F(Numa, ZonesAreNamedByTheirIds) {
  const auto odd = numa_report("n")
                       .zone("node-x")
                       .free("cpu", "64")
                       .zone("node-64")
                       .free("cpu", "64")
                       .zone("node-3")
                       .free("cpu", "1")
                       .free("memory", "8Gi");
  EXPECT_EQ(misfit(guaranteed("2", "1Gi"), odd), NumaMisfit::Container);
  EXPECT_EQ(misfit(guaranteed("1", "1Gi"), odd), NumaMisfit::None);
}

TEST_F(Numa, LeastAllocatedIsTheLeastOverTheZones) {
  // zone 0: cpu (4-1)/4 = 75, memory (8-2)/8 = 75. zone 1 of 2 CPUs, 4Gi: 50 and 50.
  const auto report = numa_report("n")
                          .zone("node-0")
                          .free("cpu", "4")
                          .free("memory", "8Gi")
                          .zone("node-1")
                          .free("cpu", "2")
                          .free("memory", "4Gi");
  EXPECT_EQ(score(guaranteed("1", "2Gi"), report), 50);
  // Zone 1 has no room for the CPUs, so they count 0: (0 + 50) / 2; zone 0: (25 + 75) / 2.
  EXPECT_EQ(score(guaranteed("3", "2Gi"), report), 25);
}

TEST_F(Numa, WeightsWeigh) {
  // cpu 75, memory 50.
  const auto report = numa_report("n").zone("node-0").free("cpu", "4").free("memory", "4Gi");
  NumaScoring scoring;
  scoring.weights = {{"cpu", 3}, {"memory", 1}};
  EXPECT_EQ(score(guaranteed("1", "2Gi"), report, scoring), (3 * 75 + 50) / 4);
  scoring.strategy = NumaStrategy::MostAllocated;
  EXPECT_EQ(score(guaranteed("1", "2Gi"), report, scoring), (3 * 25 + 50) / 4);
}

TEST_F(Numa, CoresCountWhole) {
  const auto report = numa_report("n").zone("node-0").free("cpu", "4").free("memory", "4Gi");
  NumaScoring scoring;
  scoring.weights = {{"cpu", 100}, {"memory", 1}};
  // 500m counts as 1 of 4: 75; memory 3/4: 75.
  EXPECT_EQ(score(guaranteed("500m", "1Gi"), report, scoring), 75);
}

TEST_F(Numa, BalancedAllocationFallsWithTheVariance) {
  const auto report = numa_report("n").zone("node-0").free("cpu", "4").free("memory", "4Gi");
  const NumaScoring scoring{.strategy = NumaStrategy::BalancedAllocation, .weights = {}};
  EXPECT_EQ(score(guaranteed("2", "2Gi"), report, scoring), 100);
  // Shares 1 and 0.5: mean 0.75, sample variance 2 * 0.0625 / 1 = 0.125.
  EXPECT_EQ(score(guaranteed("4", "2Gi"), report, scoring), 87);
  EXPECT_EQ(score(guaranteed("5", "2Gi"), report, scoring), 0);
}

TEST_F(Numa, ScopeContainerTakesTheMean) {
  const auto report = numa_report("n").zone("node-0").free("cpu", "4").free("memory", "4Gi");
  PodBuilder two = guaranteed("1", "1Gi");    // 75
  exact(two.container("second"), "2", "2Gi"); // 50
  EXPECT_EQ(score(two, report), 62);
  auto by_pod = report;
  EXPECT_EQ(score(two, by_pod.scope("pod")), 25) << "3 of 4 and 3Gi of 4Gi";
}

TEST_F(Numa, OnlySingleNumaNodeIsScoredByAllocation) {
  EXPECT_EQ(score(guaranteed("1", "1Gi"), two_zones().policy("best-effort")), 0);
}

/// Four zones of 2 CPUs and 2Gi; 0-1 and 2-3 are near each other.
NumaReportBuilder four_zones() {
  NumaReportBuilder report = numa_report("n").policy("restricted");
  constexpr std::int64_t kCosts[4][4] = {
      {10, 12, 20, 20}, {12, 10, 20, 20}, {20, 20, 10, 12}, {20, 20, 12, 10}};
  for (int i = 0; i < 4; ++i) {
    report.zone("node-" + std::to_string(i)).free("cpu", "2").free("memory", "2Gi");
    for (int j = 0; j < 4; ++j) {
      report.cost("node-" + std::to_string(j), kCosts[i][j]);
    }
  }
  return report;
}

TEST_F(Numa, LeastNumaNodesCountsZonesAndTheirDistance) {
  const NumaScoring scoring{.strategy = NumaStrategy::LeastNumaNodes, .weights = {}};
  EXPECT_EQ(score(guaranteed("2", "1Gi"), four_zones(), scoring), 100 - 12 + 6);
  EXPECT_EQ(score(guaranteed("3", "1Gi"), four_zones(), scoring), 100 - 24 + 6);
  EXPECT_EQ(score(guaranteed("5", "1Gi"), four_zones(), scoring), 100 - 36 + 6);
  EXPECT_EQ(score(guaranteed("9", "1Gi"), four_zones(), scoring), 0) << "they do not fit";
  // The first takes zone 0, the second needs two: 2-3 are the nearest that are free.
  PodBuilder two = guaranteed("2", "1Gi");
  exact(two.container("second"), "4", "1Gi");
  EXPECT_EQ(score(two, four_zones(), scoring), 100 - 24 + 6);
}

TEST_F(Numa, LeastNumaNodesMissesTheNearestPairThatIsTaken) {
  const NumaScoring scoring{.strategy = NumaStrategy::LeastNumaNodes, .weights = {}};
  auto report = numa_report("n").policy("none");
  report.zone("node-0").free("cpu", "2").free("memory", "9Gi").cost("node-0", 10);
  report.cost("node-1", 12).cost("node-2", 30);
  report.zone("node-1").free("cpu", "0").free("memory", "9Gi").cost("node-0", 12);
  report.cost("node-1", 10).cost("node-2", 30);
  report.zone("node-2").free("cpu", "2").free("memory", "9Gi").cost("node-0", 30);
  report.cost("node-1", 30).cost("node-2", 10);
  EXPECT_EQ(score(guaranteed("4", "1Gi"), report, scoring), 100 - 24) << "0 and 2 are far apart";
}

TEST_F(Numa, LeastNumaNodesDoesNotCareForWhatIsNotOnZones) {
  const NumaScoring scoring{.strategy = NumaStrategy::LeastNumaNodes, .weights = {}};
  const auto devices = numa_report("n").zone("node-0").free("example.com/dev", "1");
  EXPECT_EQ(score(guaranteed("2", "1Gi"), devices, scoring), 100);
}

TEST(NumaReport, AttributesGoBeforeThePolicyOfOld) {
  ResourceNames names = make_resource_names();
  const auto read = [&](NumaReportBuilder builder, std::string_view old) {
    builder.edit([&](boost::json::object& document) {
      document["topologyPolicies"] = boost::json::array{boost::json::string(old)};
    });
    return numa_report(*builder.build(), names);
  };
  auto bare = numa_report("n").edit([](boost::json::object& d) { d.erase("attributes"); });
  EXPECT_TRUE(read(bare, "SingleNUMANodePodLevel").single_numa_node);
  EXPECT_EQ(read(bare, "SingleNUMANodePodLevel").scope, NumaScope::Pod);
  EXPECT_EQ(read(bare, "SingleNUMANodeContainerLevel").scope, NumaScope::Container);
  EXPECT_FALSE(read(bare, "BestEffort").single_numa_node);
  EXPECT_FALSE(read(numa_report("n").policy("none"), "SingleNUMANodePodLevel").single_numa_node);
}

TEST(PodFingerprint, DoesNotDependOnOrder) {
  const std::vector<api::Key> some{{"a", "x"}, {"b", "y"}};
  const std::vector<api::Key> turned{{"b", "y"}, {"a", "x"}};
  EXPECT_EQ(pod_fingerprint(some), pod_fingerprint(turned));
  EXPECT_NE(pod_fingerprint(some), pod_fingerprint({{"a", "y"}, {"b", "x"}}));
  // XXH64 of nothing.
  EXPECT_EQ(pod_fingerprint({}), "pfp0v001ef46db3751d8e999");
}

TEST(PodFingerprint, KnowsPodsThatOwnCpusOrDevices) {
  EXPECT_TRUE(has_exclusive_resources(guaranteed("2", "1Gi").build()->spec));
  EXPECT_FALSE(has_exclusive_resources(guaranteed("1500m", "1Gi").build()->spec));
  EXPECT_FALSE(has_exclusive_resources(pod("p").cpu("2").build()->spec));
  EXPECT_TRUE(has_exclusive_resources(pod("p").gpus(1).build()->spec));
}

} // namespace
} // namespace berth::sched
