// GpuSlices: from which GPUs replicas and MIG devices come, and the accounting behind it.
#include "berth/sched/plugins/gpu_slices.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/sched/plugins/gpu_share.h"
#include "berth/sched/plugins/gpu_topology.h"
#include "berth/sched/slice_choice.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::SchedulingWorld;
using testing::HasSubstr;

constexpr const char* kShared = "nvidia.com/gpu.shared";
constexpr const char* kMig1 = "nvidia.com/mig-1g.10gb";
constexpr const char* kMig3 = "nvidia.com/mig-3g.40gb";

Profile slices_profile() {
  Profile profile = default_profile();
  for (const std::string_view name : {kGpuTopology, kGpuShare, kGpuSlices}) {
    profile.plugins.push_back({.name = std::string(name), .weight = 1, .args = nullptr});
  }
  return profile;
}

test::NodeBuilder shared_node(std::string_view name) {
  auto builder = node(name);
  builder.resource(kShared, "8")
      .annotation(model::kGpuDevicesAnnotation, "nvidia.com/gpu.shared=replicas:0x4,1x4");
  return builder;
}

test::NodeBuilder cut_node(std::string_view name) {
  auto builder = node(name);
  builder.resource(kMig1, "7")
      .resource(kMig3, "3")
      .annotation(model::kGpuDevicesAnnotation,
                  "nvidia.com/mig-1g.10gb=mig:0x4,1x3;nvidia.com/mig-3g.40gb=mig:0x1,2x2");
  return builder;
}

test::PodBuilder asks(std::string_view name, std::string_view resource, int count = 1) {
  auto builder = pod(name).cpu("1");
  return builder.extended(resource, std::to_string(count));
}

std::string chosen(const Decision& decision) {
  const auto it = decision.annotations.find(std::string(model::kGpuSlicesAnnotation));
  return it == decision.annotations.end() ? "none" : it->second;
}

TEST(GpuSlices, ReplicasAreSpreadOverTheLeastUsedGpus) {
  SchedulingWorld world(slices_profile());
  world.with(shared_node("n"));
  EXPECT_EQ(chosen(world.decide(asks("a", kShared))), "nvidia.com/gpu.shared=0x1");
  EXPECT_EQ(chosen(world.decide(asks("b", kShared))), "nvidia.com/gpu.shared=1x1");
  EXPECT_EQ(chosen(world.decide(asks("c", kShared, 3))), "nvidia.com/gpu.shared=0x2,1x1");
}

TEST(GpuSlices, MigDevicesArePackedOntoTheGpusInUse) {
  SchedulingWorld world(slices_profile());
  world.with(cut_node("n"));
  EXPECT_EQ(chosen(world.decide(asks("a", kMig3))), "nvidia.com/mig-3g.40gb=0x1")
      << "where fewer are left";
  EXPECT_EQ(chosen(world.decide(asks("b", kMig1))), "nvidia.com/mig-1g.10gb=0x1")
      << "beside the other profile";
  EXPECT_EQ(chosen(world.decide(asks("c", kMig1, 4))), "nvidia.com/mig-1g.10gb=0x3,1x1");
}

TEST(GpuSlices, AGpuWithoutHealthyDevicesIsNotChosen) {
  SchedulingWorld world(slices_profile());
  world.with(node("n")
                 .resource(kShared, "4")
                 .annotation(model::kGpuDevicesAnnotation, "nvidia.com/gpu.shared=replicas:1x4"));
  EXPECT_EQ(chosen(world.decide(asks("a", kShared, 2))), "nvidia.com/gpu.shared=1x2");
}

TEST(GpuSlices, WhereNothingIsKnownNothingIsChosen) {
  SchedulingWorld world(slices_profile());
  world.with(node("n").resource(kShared, "4"));
  const Decision decision = world.decide(asks("a", kShared));
  EXPECT_TRUE(decision.placed());
  EXPECT_EQ(chosen(decision), "none");
}

TEST(GpuSlices, PodsWithoutAChoiceArePresumedToBeWhereTheRuleWouldPutThem) {
  SchedulingWorld world(slices_profile());
  world.with(shared_node("n"));
  world.with(asks("a", kShared, 3), "n");
  EXPECT_EQ(chosen(world.decide(asks("b", kShared))), "nvidia.com/gpu.shared=1x1");
}

TEST(GpuSlices, GpusThatAreCutAreGivenNeitherWholeNorInParts) {
  SchedulingWorld world(slices_profile());
  world.with(node("n")
                 .gpus(2)
                 .label("berth.dev/platform", "hgx-a100-4")
                 .resource(kMig1, "14")
                 .annotation(model::kGpuDevicesAnnotation, "nvidia.com/mig-1g.10gb=mig:0x7,2x7"));
  const Decision whole = world.decide(pod("w").cpu("1").gpus(1));
  EXPECT_EQ(whole.gpus & 0b0101U, 0U) << "of the whole ones, 1 and 3";
  EXPECT_TRUE(whole.placed());
  auto part = pod("p").cpu("1");
  part.annotation(model::kGpuMilli, "500");
  const Decision in_part = world.decide(part);
  EXPECT_TRUE(in_part.placed());
  EXPECT_EQ(in_part.gpus & 0b0101U, 0U);
}

// Random histories on one node against counts that are kept by hand.
class SliceHistories : public ::testing::TestWithParam<int> {};

TEST_P(SliceHistories, TheStateCountsWhatWasChosen) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  SchedulingWorld world(slices_profile());
  world.with(cut_node("n"));
  std::map<std::string, std::string> live; // pod to its choice
  for (int turn = 0; turn < 200; ++turn) {
    const std::string name = fmt::format("p{}", rng.below(8));
    if (live.contains(name)) {
      world.state().remove_pod("default/" + name);
      live.erase(name);
    } else {
      const std::string before = world.state().dump();
      const Decision decision = world.decide(
          asks(name, rng.chance(1, 2) ? kMig1 : kMig3, static_cast<int>(rng.between(1, 2))));
      if (!decision.placed()) {
        ASSERT_EQ(world.state().dump(), before);
        continue;
      }
      ASSERT_NE(chosen(decision), "none");
      live[name] = chosen(decision);
    }
    std::map<std::string, model::CountByGpu> want;
    for (const auto& [pod_name, text] : live) {
      for (const auto& [resource, counts] : model::parse_chosen_slices(text)) {
        for (const auto& [gpu, count] : counts) {
          want[resource][gpu] += count;
        }
      }
    }
    const NodeInfo& info = world.state().node(*world.state().find_node("n"));
    for (const ResourceSlices& slices : info.slices) {
      ASSERT_EQ(slices.unplaced, 0);
      for (std::size_t gpu = 0; gpu < kMaxGpus; ++gpu) {
        const std::string resource(world.state().resource_names().name(slices.resource));
        ASSERT_EQ(slices.taken[gpu], want[resource][static_cast<int>(gpu)]);
        ASSERT_LE(slices.taken[gpu], slices.there[gpu]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SliceHistories, ::testing::Range(1, 21));

} // namespace
} // namespace berth::sched
