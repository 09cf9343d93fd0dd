#include "berth/deviceplugin/resource_plan.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/deviceplugin/replicas.h"
#include "berth/inventory/simulated_mig.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A GPU as "whole", "" (MIG without instances), or "1g.10gb=7".
inventory::NodeFacts node(const std::vector<std::string>& gpus) {
  inventory::NodeFacts facts;
  for (const std::string& wishes : gpus) {
    inventory::GpuFacts& gpu = facts.gpus.emplace_back();
    const auto index = static_cast<int>(facts.gpus.size()) - 1;
    gpu.info = {.index = index,
                .uuid = fmt::format("GPU-{}", index),
                .pci_bus_id = "",
                .numa = index / 2,
                .minor = index,
                .memory_mib = 81559,
                .product = "NVIDIA-H100-80GB-HBM3"};
    gpu.compute_major = 9;
    gpu.mig_capable = true;
    gpu.mig_enabled = wishes != "whole";
    if (gpu.mig_enabled) {
      const auto cut = inventory::cut_gpu(gpu, wishes, 1);
      EXPECT_TRUE(cut) << to_string(cut.error());
      gpu.mig = cut.value_or(std::vector<inventory::MigDevice>());
    }
  }
  return facts;
}

Config with(inventory::MigStrategy strategy) {
  Config config;
  config.flags.mig_strategy = strategy;
  return config;
}

/// Resources with how many devices each has.
std::map<std::string, std::size_t> counts(const ResourcePlan& plan) {
  std::map<std::string, std::size_t> out;
  for (const PlannedResource& resource : plan.resources) {
    out[resource.name] = resource.devices.size();
  }
  return out;
}

using Counts = std::map<std::string, std::size_t>;
using enum inventory::MigStrategy;

struct Case {
  const char* name;
  std::vector<std::string> gpus;
  inventory::MigStrategy strategy;
  Counts want;
  const char* problem = nullptr;
};

std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.name;
}

class Strategies : public ::testing::TestWithParam<Case> {};

TEST_P(Strategies, NameAndCountDevices) {
  const ResourcePlan plan = plan_resources(node(GetParam().gpus), with(GetParam().strategy));
  EXPECT_EQ(counts(plan), GetParam().want);
  if (GetParam().problem == nullptr) {
    EXPECT_THAT(plan.problems, IsEmpty());
  } else {
    EXPECT_THAT(plan.problems, ElementsAre(HasSubstr(GetParam().problem)));
  }
}

const Case kCases[] = {
    {"NoGpus", {}, None, {}},
    {"NoneCountsGpus", {"whole", "1g.10gb=7", ""}, None, {{"nvidia.com/gpu", 3}}},
    {"SingleWithoutMigCountsGpus", {"whole", "whole"}, Single, {{"nvidia.com/gpu", 2}}},
    {"SingleCountsMigDevices", {"1g.10gb=7", "1g.10gb=3"}, Single, {{"nvidia.com/gpu", 10}}},
    {"SingleOfTwoTypes",
     {"1g.10gb=7", "2g.20gb=3"},
     Single,
     {{"nvidia.com/gpu", 0}},
     "more than one MIG device type present on node"},
    {"SingleOfTwoTypesOnOneGpu",
     {"1g.10gb=1,2g.20gb=1"},
     Single,
     {{"nvidia.com/gpu", 0}},
     "more than one MIG device type present on node"},
    {"SingleWithAWholeGpu",
     {"1g.10gb=7", "whole"},
     Single,
     {{"nvidia.com/gpu", 0}},
     "all devices on the node must be configured with the same migEnabled value"},
    {"SingleWithoutInstances",
     {"1g.10gb=7", ""},
     Single,
     {{"nvidia.com/gpu", 0}},
     "device 1 has no MIG devices configured"},
    {"MixedNamesProfiles",
     {"whole", "1g.10gb=2,3g.40gb=1", "3g.40gb=2"},
     Mixed,
     {{"nvidia.com/gpu", 1}, {"nvidia.com/mig-1g.10gb", 2}, {"nvidia.com/mig-3g.40gb", 3}}},
    {"MixedSpellsAttributesWithPoints",
     {"1g.10gb+me=1,1g.20gb=1"},
     Mixed,
     {{"nvidia.com/mig-1g.10gb.me", 1}, {"nvidia.com/mig-1g.20gb", 1}}},
    {"MixedLeavesOutAGpuWithoutInstances",
     {"1g.10gb=1", ""},
     Mixed,
     {{"nvidia.com/mig-1g.10gb", 1}},
     "device 1 has no MIG devices configured"},
    {"MixedWithNothingAtAll",
     {""},
     Mixed,
     {{"nvidia.com/gpu", 0}},
     "device 0 has no MIG devices configured"},
};

INSTANTIATE_TEST_SUITE_P(ResourcePlan, Strategies, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ResourcePlan, ALostGpuDoesNotSpoilStrategySingle) {
  inventory::NodeFacts facts = node({"1g.10gb=2", "whole"});
  facts.gpus[1].answers = false;
  facts.gpus[1].mig_capable = false;
  EXPECT_EQ(counts(plan_resources(facts, with(Single))), (Counts{{"nvidia.com/gpu", 2}}));
}

TEST(ResourcePlan, PartsOfInstancesAreNoResource) {
  inventory::NodeFacts facts = node({"2g.20gb=2"});
  facts.gpus[0].mig[1].compute_slices = 1;
  facts.gpus[0].mig[1].profile = "1c.2g.20gb";
  const ResourcePlan plan = plan_resources(facts, with(Mixed));
  EXPECT_EQ(counts(plan), (Counts{{"nvidia.com/mig-2g.20gb", 1}}));
  EXPECT_THAT(plan.problems, ElementsAre(HasSubstr("MIG profile '1c.2g.20gb' does not match")));
}

TEST(ResourcePlan, DevicesKnowWhereTheyLie) {
  const inventory::NodeFacts facts = node({"whole", "whole", "3g.40gb=2"});
  const ResourcePlan plan = plan_resources(facts, with(Mixed));
  EXPECT_EQ(plan.find("nvidia.com/gpu")->devices[1],
            (PluginDevice{
                .id = "GPU-1", .uuid = "GPU-1", .index = "1", .gpu = 1, .minor = 1, .numa = 0}));
  const inventory::MigDevice& mig = facts.gpus[2].mig[1];
  EXPECT_EQ(plan.find("nvidia.com/mig-3g.40gb")->devices[1],
            (PluginDevice{.id = mig.uuid,
                          .uuid = mig.uuid,
                          .index = "2:1",
                          .gpu = 2,
                          .minor = 2,
                          .mig = MigInstance{mig.gpu_instance, mig.compute_instance},
                          .numa = 1}));
}

// ---- sharing ------------------------------------------------------------------------------------

Config sharing(SharedResource resource, inventory::Sharing strategy) {
  Config config = with(Mixed);
  SharedResources shared{.resources = {std::move(resource)}};
  (strategy == inventory::Sharing::Mps ? config.sharing.mps : config.sharing.time_slicing) =
      std::move(shared);
  return config;
}

std::vector<std::string> ids(const ResourcePlan& plan, std::string_view resource) {
  std::vector<std::string> out;
  if (const PlannedResource* found = plan.find(resource)) {
    for (const PluginDevice& device : found->devices) {
      out.push_back(device.id);
    }
  }
  return out;
}

constexpr auto kSlices = inventory::Sharing::TimeSlicing;
constexpr auto kMps = inventory::Sharing::Mps;

TEST(Replicas, AreNumberedFromZero) {
  const ResourcePlan plan =
      plan_resources(node({"whole", "whole"}),
                     sharing({.name = "nvidia.com/gpu", .devices = {}, .replicas = 2}, kSlices));
  EXPECT_THAT(ids(plan, "nvidia.com/gpu"),
              ElementsAre("GPU-0::0", "GPU-0::1", "GPU-1::0", "GPU-1::1"));
  EXPECT_EQ(plan.resources[0].sharing, kSlices);
  EXPECT_EQ(plan.resources[0].devices[1].uuid, "GPU-0");
}

TEST(Replicas, OfMigDevicesToo) {
  const inventory::NodeFacts facts = node({"3g.40gb=1"});
  const ResourcePlan plan = plan_resources(
      facts, sharing({.name = "nvidia.com/mig-3g.40gb", .devices = {}, .replicas = 2}, kSlices));
  EXPECT_THAT(ids(plan, "nvidia.com/mig-3g.40gb"),
              ElementsAre(facts.gpus[0].mig[0].uuid + "::0", facts.gpus[0].mig[0].uuid + "::1"));
}

TEST(Replicas, HaveANameOfTheirOwnIfRenamed) {
  const ResourcePlan plan =
      plan_resources(node({"whole", "whole"}), sharing({.name = "nvidia.com/gpu",
                                                        .rename = "nvidia.com/gpu.shared",
                                                        .devices = {.count = 1},
                                                        .replicas = 2},
                                                       kSlices));
  EXPECT_THAT(ids(plan, "nvidia.com/gpu"), ElementsAre("GPU-1"));
  EXPECT_THAT(ids(plan, "nvidia.com/gpu.shared"), ElementsAre("GPU-0::0", "GPU-0::1"));
  const ResourcePlan all =
      plan_resources(node({"whole"}), sharing({.name = "nvidia.com/gpu",
                                               .rename = "nvidia.com/gpu.shared",
                                               .devices = {},
                                               .replicas = 2},
                                              kSlices));
  EXPECT_EQ(counts(all), (Counts{{"nvidia.com/gpu.shared", 2}}));
}

TEST(Replicas, OfDevicesByIndexOrUuid) {
  const inventory::NodeFacts facts = node({"whole", "whole", "whole"});
  const ResourcePlan plan = plan_resources(
      facts, sharing({.name = "nvidia.com/gpu", .devices = {.list = {{"2", "0"}}}, .replicas = 2},
                     kSlices));
  EXPECT_THAT(ids(plan, "nvidia.com/gpu"),
              ElementsAre("GPU-0::0", "GPU-0::1", "GPU-1", "GPU-2::0", "GPU-2::1"));
}

struct Impossible {
  const char* name;
  std::vector<std::string> gpus;
  SharedResource shared;
  inventory::Sharing strategy;
  const char* problem;
};

std::ostream& operator<<(std::ostream& out, const Impossible& one) {
  return out << one.name;
}

class ImpossibleSharing : public ::testing::TestWithParam<Impossible> {};

TEST_P(ImpossibleSharing, AdvertisesNothingAndSaysWhy) {
  const Impossible& given = GetParam();
  const ResourcePlan plan = plan_resources(node(given.gpus), sharing(given.shared, given.strategy));
  EXPECT_THAT(ids(plan, given.shared.name), IsEmpty());
  ASSERT_NE(plan.find(given.shared.name), nullptr);
  EXPECT_THAT(plan.problems, ElementsAre(HasSubstr(given.problem)));
}

const Impossible kImpossible[] = {
    {"TooMany",
     {"whole"},
     {.name = "nvidia.com/gpu", .devices = {.count = 2}, .replicas = 2},
     kSlices,
     "requested 2 devices to be replicated, but only 1 devices available"},
    {"NoSuchIndex",
     {"whole"},
     {.name = "nvidia.com/gpu", .devices = {.list = {{"3"}}}, .replicas = 2},
     kSlices,
     "no matching device at index: 3"},
    {"NoSuchUuid",
     {"whole"},
     {.name = "nvidia.com/gpu", .devices = {.list = {{"GPU-x"}}}, .replicas = 2},
     kSlices,
     "no matching device with UUID: GPU-x"},
    {"MpsOfMig",
     {"1g.10gb=1"},
     {.name = "nvidia.com/mig-1g.10gb", .devices = {}, .replicas = 2},
     kMps,
     "sharing using MPS is not supported for MIG devices"},
    {"MpsOfTooMany",
     {"whole"},
     {.name = "nvidia.com/gpu", .devices = {}, .replicas = 49},
     kMps,
     "invalid device maximum allowed replicas exceeded: 49 > 48"},
};

INSTANTIATE_TEST_SUITE_P(Replicas, ImpossibleSharing, ::testing::ValuesIn(kImpossible),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Replicas, OfAResourceThatTheNodeLacksAreNoProblem) {
  const ResourcePlan plan = plan_resources(
      node({"whole"}),
      sharing({.name = "nvidia.com/mig-1g.10gb", .devices = {}, .replicas = 2}, kSlices));
  EXPECT_EQ(counts(plan), (Counts{{"nvidia.com/gpu", 1}}));
  EXPECT_THAT(plan.problems, IsEmpty());
}

TEST(Replicas, OldGpusTakeFewerMpsClients) {
  inventory::GpuFacts gpu;
  gpu.compute_major = 7;
  EXPECT_EQ(most_mps_clients(gpu), 16);
  gpu.compute_minor = 5;
  EXPECT_EQ(most_mps_clients(gpu), 48);
  gpu.compute_major = 10;
  gpu.compute_minor = 0;
  EXPECT_EQ(most_mps_clients(gpu), 48);
}

} // namespace
} // namespace berth::deviceplugin
