// GpuShare and the accounting of parts of GPUs behind it.
#include "berth/sched/plugins/gpu_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/plugins/gpu_topology.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

Profile sharing_profile(boost::json::value args = nullptr) {
  Profile profile = default_profile();
  profile.plugins.push_back({.name = "GpuTopology", .weight = 1, .args = nullptr});
  profile.plugins.push_back({.name = "GpuShare", .weight = 1, .args = std::move(args)});
  return profile;
}

test::NodeBuilder sharing_node(std::string_view name, int gpus, std::string_view model = "V100") {
  auto builder = node(name);
  builder.resource(model::kGpuCount, std::to_string(gpus)).label(model::kGpuCardModel, model);
  return builder;
}

test::PodBuilder part(std::string_view name, int milli, int gpus = 1) {
  auto builder = pod(name).cpu("1");
  builder.annotation(model::kGpuMilli, std::to_string(milli));
  builder.annotation(model::kGpuCount, std::to_string(gpus));
  return builder;
}

std::string index_of(const Decision& decision) {
  const auto it = decision.annotations.find(std::string(model::kGpuIndex));
  return it == decision.annotations.end() ? "none" : it->second;
}

TEST(GpuShare, FillsTheFullestGpuThatWillDo) {
  SchedulingWorld world(sharing_profile());
  world.with(sharing_node("n", 2));
  EXPECT_EQ(index_of(world.decide(part("a", 600))), "0");
  EXPECT_EQ(index_of(world.decide(part("b", 500))), "1");
  EXPECT_EQ(index_of(world.decide(part("c", 400))), "0");
  EXPECT_EQ(index_of(world.decide(part("d", 500))), "1");
  const Decision full = world.decide(part("e", 10));
  EXPECT_FALSE(full.placed());
  EXPECT_THAT(full.message, HasSubstr("1 node(s) didn't have enough room left on their GPUs"));
  EXPECT_THAT(full.unschedulable_plugins, ElementsAre("GpuShare"));
}

TEST(GpuShare, WorstLeavesGpusEven) {
  SchedulingWorld world(sharing_profile(test::json_of(R"({"gpuSelMethod": "worst"})")));
  world.with(sharing_node("n", 2));
  EXPECT_EQ(index_of(world.decide(part("a", 100))), "0");
  EXPECT_EQ(index_of(world.decide(part("b", 100))), "1");
}

TEST(GpuShare, TakesSeveralGpusAtOnce) {
  SchedulingWorld world(sharing_profile());
  world.with(sharing_node("n", 4)).with(sharing_node("m", 1));
  world.decide(part("a", 300));
  const Decision two = world.decide(part("b", 1000, 2));
  EXPECT_EQ(two.gpus, 0b0110U);
  EXPECT_EQ(index_of(two), "1-2");
  EXPECT_FALSE(two.annotations.contains(std::string(model::kGpuIndicesAnnotation)));
  EXPECT_THAT(world.verdicts(part("c", 900, 2)),
              UnorderedElementsAre(
                  Pair("n", "Unschedulable: node(s) didn't have enough room left on their GPUs"),
                  Pair("m", "UnschedulableAndUnresolvable: node(s) had fewer GPUs to share than "
                            "requested")));
}

TEST(GpuShare, OnlyModelsThePodTakes) {
  SchedulingWorld world(sharing_profile());
  world.with(sharing_node("t", 2, "T4")).with(sharing_node("v", 2, "V100"));
  auto picky = part("p", 500);
  picky.annotation(model::kGpuCardModel, "A10|V100");
  EXPECT_THAT(world.verdicts(picky),
              UnorderedElementsAre(Pair("t", "UnschedulableAndUnresolvable: node(s) had no GPU of "
                                             "a requested model"),
                                   Pair("v", "ok")));
}

TEST(GpuShare, CountsMemory) {
  SchedulingWorld world(sharing_profile());
  world.with(sharing_node("n", 2).resource(model::kGpuMem, "32Gi"));
  const auto asking = [](std::string_view name, std::string_view memory) {
    auto builder = pod(name).cpu("1");
    builder.annotation(model::kGpuMem, memory);
    return builder;
  };
  EXPECT_EQ(index_of(world.decide(asking("a", "10Gi"))), "0");
  EXPECT_EQ(index_of(world.decide(asking("b", "6Gi"))), "0");
  EXPECT_EQ(index_of(world.decide(asking("c", "1Gi"))), "1");
  EXPECT_FALSE(world.decide(asking("d", "16Gi")).placed());
}

TEST(GpuShare, CountsMemoryOfAliyunUnitsOnEachGpu) {
  SchedulingWorld world(sharing_profile());
  world.with(node("n").resource(model::kAliyunGpuCount, "2").resource(model::kAliyunGpuMem, "30"));
  EXPECT_TRUE(world.decide(pod("a").extended(model::kAliyunGpuMem, "10")).placed());
  EXPECT_TRUE(world.decide(pod("b").extended(model::kAliyunGpuMem, "10")).placed());
  // 10 of 30 are left, but 5 on each GPU.
  EXPECT_FALSE(world.decide(pod("c").extended(model::kAliyunGpuMem, "10")).placed());
  EXPECT_TRUE(world.decide(pod("d").extended(model::kAliyunGpuMem, "5")).placed());
}

TEST(GpuShare, AWishThatCannotBeReadSaysSo) {
  SchedulingWorld world(sharing_profile());
  world.with(sharing_node("n", 2));
  auto wrong = pod("p").cpu("1");
  wrong.annotation(model::kGpuMilli, "half");
  const Decision decision = world.decide(wrong);
  EXPECT_FALSE(decision.placed());
  EXPECT_THAT(decision.message, HasSubstr("annotation alibabacloud.com/gpu-milli must be"));
}

TEST(GpuShare, WholeGpusOfAPodWhoseWishCannotBeReadAreStillHeld) {
  SchedulingWorld world(sharing_profile());
  world.with(node("n").gpus(8).platform("dgx-h100"));
  auto both = pod("both").gpus(8);
  both.annotation(model::kGpuMilli, "500");
  EXPECT_FALSE(world.decide(both).placed()) << "asks for whole GPUs and for parts";
  world.with(both, "n"); // somebody else bound it
  EXPECT_FALSE(world.decide(pod("one").gpus(1)).placed());
  EXPECT_FALSE(world.decide(part("part", 10)).placed());
}

TEST(GpuShare, WholeGpusAndPartsKeepOutOfEachOthersWay) {
  SchedulingWorld world(sharing_profile());
  world.with(node("n").gpus(8).platform("dgx-h100"));
  ASSERT_EQ(index_of(world.decide(part("a", 100))), "0");
  EXPECT_FALSE(world.decide(pod("all").gpus(8)).placed());
  const Decision seven = world.decide(pod("seven").gpus(7));
  EXPECT_EQ(seven.gpus, 0b1111'1110U);
  EXPECT_EQ(index_of(world.decide(part("b", 900))), "0");
  EXPECT_FALSE(world.decide(part("c", 1)).placed());
  world.state().remove_pod("default/seven");
  EXPECT_EQ(index_of(world.decide(part("c", 1))), "1");
}

TEST(GpuShare, WholeGpusWithoutIndicesAreCounted) {
  SchedulingWorld world(sharing_profile());
  world.with(node("n").gpus(2));
  ASSERT_EQ(index_of(world.decide(part("a", 500))), "0");
  EXPECT_FALSE(world.decide(pod("both").gpus(2)).placed());
  EXPECT_TRUE(world.decide(pod("one").gpus(1)).placed());
  EXPECT_EQ(index_of(world.decide(part("b", 500))), "0");
  EXPECT_FALSE(world.decide(part("c", 1)).placed());
}

TEST(GpuShare, UnhealthyGpusTakeNobody) {
  SchedulingWorld world(sharing_profile());
  auto sick = sharing_node("n", 2);
  sick.annotation("berth.dev/unhealthy-gpus", "0");
  world.with(sick);
  EXPECT_EQ(index_of(world.decide(part("a", 500))), "1");
}

TEST(GpuShare, APodBoundWithoutAnIndexIsPresumedOnTheFullest) {
  SchedulingWorld world(sharing_profile());
  world.with(sharing_node("n", 2));
  world.with(part("stranger", 600), "n");
  EXPECT_EQ(index_of(world.decide(part("a", 500))), "1");
  EXPECT_EQ(index_of(world.decide(part("b", 400))), "0");
  world.state().remove_pod("default/stranger");
  EXPECT_EQ(index_of(world.decide(part("c", 600))), "0");
}

TEST(GpuShare, PreemptsForAPart) {
  SchedulingWorld world(sharing_profile());
  world.with(sharing_node("n", 1));
  world.decide(part("low", 600));
  const Decision high = world.decide(part("high", 500).priority(100));
  ASSERT_EQ(high.victims.size(), 1U);
  EXPECT_EQ(high.victims[0]->name(), "low");
  EXPECT_EQ(high.nominated_node, "n");
}

TEST(GpuShare, RefusesUnknownArgs) {
  const auto refused = parse_gpu_share_args(test::json_of(R"({"gpuSelMethod": "widest"})"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("widest"));
  EXPECT_FALSE(parse_gpu_share_args(test::json_of(R"({"choice": "best"})")));
  EXPECT_TRUE(parse_gpu_share_args(test::json_of(
      R"({"dimExtMethod": "share", "normMethod": "max", "gpuSelMethod": "FGDScore"})")));
}

} // namespace
} // namespace berth::sched
