#include "berth/hardware/discovery/labels.h"

#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/shared_file.h"

namespace berth::hardware {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

api::Labels labels_of(const NodeFacts& facts, const LabelOptions& options = {}) {
  auto labels = discovery_labels(facts, options);
  EXPECT_TRUE(labels) << to_string(labels.error());
  return labels ? *std::move(labels) : api::Labels{};
}

MigDevice mig(int slices, std::string profile, std::int64_t memory_mib) {
  return {.uuid = "MIG-" + profile,
          .profile = std::move(profile),
          .memory_mib = memory_mib,
          .multiprocessors = slices * 14,
          .gpu_slices = slices,
          .compute_slices = slices,
          .copy_engines = slices,
          .decoders = slices / 2};
}

/// A DGX A100 whose GPUs from `first` on are cut into these.
NodeFacts with_mig(std::size_t first, const std::vector<MigDevice>& devices) {
  NodeFacts facts = simulated_facts(builtin("dgx-a100"), "n1");
  for (std::size_t i = first; i < facts.gpus.size(); ++i) {
    facts.gpus[i].mig_enabled = true;
    facts.gpus[i].mig = devices;
  }
  return facts;
}

TEST(DiscoveryLabels, AgreeWithThoseOfSimulatedNodes) {
  for (const std::string& name : Catalogue::builtin().names()) {
    api::Labels expected;
    for (const auto& [key, value] : node_labels(builtin(name))) {
      if (key.starts_with("nvidia.com/") && key != "nvidia.com/gpu.present") { // the operator's
        expected[key] = value;
      }
    }
    const NodeFacts facts = simulated_facts(builtin(name), "n-1");
    if (const auto clique = gpu_clique(builtin(name), "n-1"); !clique.empty()) {
      expected["nvidia.com/gpu.clique"] = clique;
    }
    EXPECT_EQ(labels_of(facts), expected) << name;
  }
}

TEST(DiscoveryLabels, ANodeWithoutGpusHasNone) {
  EXPECT_THAT(labels_of({}), IsEmpty());
}

TEST(DiscoveryLabels, SayWhenTheyAreNotToBeReliedOn) {
  const std::string state(kMigStateLabel);
  NodeFacts facts = simulated_facts(builtin("dgx-a100"), "n1");
  const api::Labels settled = labels_of(facts);
  EXPECT_FALSE(settled.contains(state));
  facts.gpus[7].info.product = "";
  EXPECT_EQ(labels_of(facts)[state], "unknown");
  EXPECT_EQ(labels_of(facts)["nvidia.com/gpu.product"], settled.at("nvidia.com/gpu.product"));
  EXPECT_EQ(labels_of(facts)["nvidia.com/gpu.count"], "7");
  facts.gpus[2].mig_pending = true;
  EXPECT_EQ(labels_of(facts)[state], "pending");
  for (GpuFacts& gpu : facts.gpus) {
    gpu.info.product = "";
  }
  EXPECT_EQ(labels_of(facts), (api::Labels{{state, "pending"}})) << "no product rather than none";
}

TEST(DiscoveryLabels, SharingShowsInProductReplicasAndStrategy) {
  const NodeFacts facts = simulated_facts(builtin("t4-pcie-1"), "n1");
  auto labels = labels_of(facts, {.sharing = Sharing::TimeSlicing, .replicas = 4});
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "Tesla-T4-SHARED");
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "1");
  EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "4");
  EXPECT_EQ(labels["nvidia.com/gpu.sharing-strategy"], "time-slicing");
  EXPECT_EQ(labels["nvidia.com/mps.capable"], "false");
  labels = labels_of(facts, {.sharing = Sharing::Mps, .replicas = 2, .renamed = true});
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "Tesla-T4");
  EXPECT_EQ(labels["nvidia.com/mps.capable"], "true");
}

TEST(DiscoveryLabels, StrategySingleMakesGpuStandForMigDevices) {
  const auto facts = with_mig(0, std::vector<MigDevice>(7, mig(1, "1g.10gb", 9856)));
  auto labels = labels_of(facts, {.mig = MigStrategy::Single});
  EXPECT_EQ(labels["nvidia.com/mig.strategy"], "single");
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb");
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "56");
  EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "1");
  EXPECT_EQ(labels["nvidia.com/gpu.memory"], "9856");
  EXPECT_EQ(labels["nvidia.com/gpu.multiprocessors"], "14");
  EXPECT_EQ(labels["nvidia.com/gpu.slices.gi"], "1");
  EXPECT_EQ(labels["nvidia.com/gpu.engines.copy"], "1");
  EXPECT_EQ(labels["nvidia.com/gpu.family"], "ampere");
}

struct InvalidSingle {
  std::string name;
  std::size_t first;
  std::vector<MigDevice> devices;
};

void PrintTo(const InvalidSingle& value, std::ostream* out) {
  *out << value.name;
}

class BrokenSingle : public ::testing::TestWithParam<InvalidSingle> {};

TEST_P(BrokenSingle, IsSaidInTheProduct) {
  auto labels =
      labels_of(with_mig(GetParam().first, GetParam().devices), {.mig = MigStrategy::Single});
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A100-SXM4-80GB-MIG-INVALID");
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "0");
  EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "0");
  EXPECT_EQ(labels["nvidia.com/gpu.memory"], "0");
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenSingle,
    ::testing::Values(InvalidSingle{"SomeGpusWhole", 4, {mig(3, "3g.40gb", 40448)}},
                      InvalidSingle{"NoDevices", 0, {}},
                      InvalidSingle{
                          "TwoProfiles", 0, {mig(3, "3g.40gb", 40448), mig(4, "4g.40gb", 40448)}}),
    [](const auto& tested) { return tested.param.name; });

TEST(DiscoveryLabels, StrategySingleWithoutMigIsAsNone) {
  auto labels = labels_of(simulated_facts(builtin("dgx-a100"), "n1"), {.mig = MigStrategy::Single});
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A100-SXM4-80GB");
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "8");
}

TEST(DiscoveryLabels, StrategyMixedNamesEveryProfile) {
  const auto facts = with_mig(6, {mig(3, "3g.40gb", 40448), mig(1, "1g.10gb+me", 9856),
                                  mig(1, "1g.10gb", 9856), mig(1, "1g.10gb", 9856)});
  auto labels =
      labels_of(facts, {.mig = MigStrategy::Mixed, .sharing = Sharing::TimeSlicing, .replicas = 2});
  EXPECT_EQ(labels["nvidia.com/mig.strategy"], "mixed");
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "8");
  EXPECT_EQ(labels["nvidia.com/gpu.product"], "NVIDIA-A100-SXM4-80GB-SHARED");
  EXPECT_EQ(labels["nvidia.com/mig-3g.40gb.count"], "2");
  EXPECT_EQ(labels["nvidia.com/mig-1g.10gb.count"], "4");
  EXPECT_EQ(labels["nvidia.com/mig-1g.10gb.me.count"], "2");
  EXPECT_EQ(labels["nvidia.com/mig-1g.10gb.replicas"], "2");
  EXPECT_EQ(labels["nvidia.com/mig-1g.10gb.product"], "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED");
  EXPECT_EQ(labels["nvidia.com/mig-3g.40gb.slices.gi"], "3");
}

TEST(DiscoveryLabels, WholeGpusBehindMigAreGivenToNobody) {
  auto labels = labels_of(with_mig(0, {mig(3, "3g.40gb", 40448)}), {.mig = MigStrategy::Mixed});
  EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "0");
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "8");
}

TEST(DiscoveryLabels, WhatCannotBeIsRefused) {
  const auto facts = with_mig(0, {mig(3, "3g.40gb", 40448)});
  const auto message = [&](const LabelOptions& options) {
    const auto labels = discovery_labels(facts, options);
    return labels ? std::string() : labels.error().message;
  };
  EXPECT_THAT(message({.sharing = Sharing::Mps, .replicas = 2}),
              HasSubstr("not supported for MIG"));
  EXPECT_THAT(message({.sharing = Sharing::TimeSlicing}), HasSubstr("must be >= 2: 1"));
  EXPECT_THAT(message({.replicas = 2}), HasSubstr("replicas need a sharing strategy: 2"));
}

/// The expressions that feature discovery's own end-to-end tests hold its labels to.
class UpstreamExpectations : public ::testing::TestWithParam<std::pair<std::string, MigStrategy>> {
};

TEST_P(UpstreamExpectations, AreMet) {
  const auto& [file, strategy] = GetParam();
  std::istringstream in(berth::testing::shared_file("inputs/gfd/" + file));
  if (in.str().empty()) {
    GTEST_SKIP() << "no list of expected labels: " << file;
  }
  const auto facts = strategy == MigStrategy::None ? simulated_facts(builtin("dgx-a100"), "n1")
                                                   : with_mig(0, {mig(3, "3g.40gb", 40448)});
  const std::string lines =
      features_file(labels_of(facts, {.mig = strategy, .timestamp = 1'700'000'000}));
  for (std::string expected; std::getline(in, expected);) {
    // Names and the form of numbers; the value classes of products leave out digits.
    const std::string pattern =
        expected.find("product") == std::string::npos && expected.find('|') == std::string::npos
            ? expected
            : expected.substr(0, expected.find('=') + 1);
    EXPECT_TRUE(pattern.empty() || std::regex_search(lines, std::regex(pattern))) << expected;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, UpstreamExpectations,
    ::testing::Values(std::pair{"expected-mig-none.txt", MigStrategy::None},
                      std::pair{"expected-mig-single.txt", MigStrategy::Single},
                      std::pair{"expected-mig-mixed.txt", MigStrategy::Mixed}));

} // namespace
} // namespace berth::hardware
