// The score plugins of GPU packing research: scores worked out by hand from spec simulators A.5,
// and random histories in which Decider has to agree with schedule_one and the accounting with
// plain sums.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/decider.h"
#include "berth/sched/part_prices.h"
#include "berth/sched/plugins/target_workload.h"
#include "berth/testing/scheduling_world.h"
#include "berth/testing/seeds.h"

namespace berth::sched {
namespace {

using test::json_of;
using test::node;
using test::pod;
using test::SchedulingWorld;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr std::string_view kTarget = R"({"targetWorkload": {"pods": 12, "typical": [
    {"cpu": "8", "gpuMilli": 500, "gpus": 1, "count": 5},
    {"cpu": "4", "gpuMilli": 1000, "gpus": 1, "count": 3},
    {"cpu": "16", "count": 1},
    {"cpu": "4", "gpuMilli": 1000, "gpus": 1, "models": ["T4"], "count": 1}]}})";

Profile packing(std::string_view plugin) {
  const bool aims = plugin == "FGD" || plugin == "BidPrice";
  return test::profile_of(
      {{.name = "NodeResourcesFit", .points = static_cast<Points>(Point::Filter)},
       {.name = "GpuShare"},
       {.name = std::string(plugin), .args = aims ? json_of(kTarget) : boost::json::value()}});
}

test::NodeBuilder gpu_node(std::string_view name, int cpu, int gpus,
                           std::string_view model = "V100") {
  auto builder = node(name).cpu(std::to_string(cpu));
  builder.resource(model::kGpuCount, std::to_string(gpus)).label(model::kGpuCardModel, model);
  return builder;
}

test::PodBuilder part(std::string_view name, int cpu, int milli, int gpus = 1) {
  auto builder = pod(name).cpu(std::to_string(cpu));
  builder.annotation(model::kGpuMilli, std::to_string(milli));
  builder.annotation(model::kGpuCount, std::to_string(gpus));
  return builder;
}

test::PodBuilder holding(std::string_view name, int cpu, int milli, std::string_view index,
                         int gpus = 1) {
  auto builder = part(name, cpu, milli, gpus);
  builder.annotation(model::kGpuIndex, index);
  return builder;
}

TEST(BestFit, PrefersTheSmallestLeftover) {
  SchedulingWorld world(packing("BestFit"));
  world.with(gpu_node("small", 16, 1)).with(gpu_node("middle", 64, 2));
  world.with(gpu_node("big", 128, 8));
  // 100 (1 - 12/256 - 0/16) = 95; 100 (1 - 60/256 - 1/16) = 70; 100 (1 - 124/256 - 7/16) = 7.
  // Stretched: (70 - 7) * 100 / 88 = 71.
  EXPECT_THAT(world.scores(part("p", 4, 1000), "BestFit"),
              UnorderedElementsAre(Pair("small", 100), Pair("middle", 71), Pair("big", 0)));
}

TEST(DotProduct, PrefersWhereLittleIsLeft) {
  SchedulingWorld world(packing("DotProduct"));
  world.with(gpu_node("small", 16, 1)).with(gpu_node("big", 128, 8));
  // small: 16/128 x 16/128 + 1/8 x 1/8 = 0.03, 100 (1 - 0.03 / 2); big: 16/128 + 1/8 = 0.25.
  EXPECT_THAT(world.scores(part("p", 16, 1000), "DotProduct"),
              UnorderedElementsAre(Pair("small", 98), Pair("big", 87)));
}

TEST(GpuPacking, GpusInUseThenFreeGpusThenFreeNodes) {
  SchedulingWorld world(packing("GpuPacking"));
  world.with(gpu_node("free", 64, 8)).with(gpu_node("tiny", 64, 1));
  world.with(gpu_node("used", 64, 2)).with(gpu_node("half", 64, 2));
  world.with(holding("a", 1, 1000, "0"), "used").with(holding("b", 1, 600, "0"), "half");
  // free: max(33 - 8, 8); tiny: max(33 - 1, 1); used: one free GPU, max(50 - 1, 33);
  // half: 40 % left, max(100 - 4, 50).
  EXPECT_THAT(
      world.scores(part("p", 1, 300), "GpuPacking"),
      UnorderedElementsAre(Pair("free", 25), Pair("tiny", 32), Pair("used", 49), Pair("half", 96)));
  EXPECT_THAT(
      world.scores(pod("cpu").cpu("1"), "GpuPacking"),
      UnorderedElementsAre(Pair("free", 0), Pair("tiny", 0), Pair("used", 0), Pair("half", 0)));
}

TEST(GpuClustering, OneKindToANode) {
  SchedulingWorld world(packing("GpuClustering"));
  for (const std::string_view name : {"empty", "same", "mixed", "other"}) {
    world.with(gpu_node(name, 64, 8));
  }
  world.with(holding("a", 1, 500, "0"), "same");
  world.with(holding("b", 1, 500, "0"), "mixed").with(holding("c", 1, 1000, "1"), "mixed");
  world.with(holding("d", 1, 1000, "0-1", 2), "other");
  // 25 (8000 - left) / 8000: 0, 1, 4, 6.
  EXPECT_THAT(world.scores(part("p", 1, 200), "GpuClustering"),
              UnorderedElementsAre(Pair("empty", 25), Pair("same", 76), Pair("mixed", 54),
                                   Pair("other", 6)));
}

TEST(Random, TakesEveryNodeAndGpuNowAndThenAndTheSameForTheSamePod) {
  SchedulingWorld world(packing("Random"));
  world.with(gpu_node("a", 64, 2)).with(gpu_node("b", 64, 2));
  std::map<std::string, int> seen;
  for (int i = 0; i < 60; ++i) {
    const auto builder = part(fmt::format("p{}", i), 1, 10);
    const Decision first = world.decide(builder);
    world.state().forget(world.describe(builder)->uid);
    const Decision again = world.decide(builder);
    EXPECT_EQ(first.node_name, again.node_name);
    EXPECT_EQ(first.gpus, again.gpus);
    world.state().forget(world.describe(builder)->uid);
    ++seen[fmt::format("{}{}", first.node_name, first.gpus)];
  }
  EXPECT_THAT(seen, testing::SizeIs(4));
}

TEST(FragmentMeter, CountsWhatTheTargetCannotUse) {
  const auto target = *api::decode_document<TargetWorkload>(json_of(kTarget).at("targetWorkload"));
  ASSERT_EQ(target.typical(), 10);
  const FragmentMeter meter(target, "V100");
  // Two GPUs, 300 and 1000 left, cpu for 500s (8) but not for the cpu pod (16):
  //   500s (5): only the 300 is lost; 1000s (3): the 300; the cpu pod and the T4 pod: all 1300.
  const std::array<std::int32_t, 2> left = {300, 1000};
  EXPECT_EQ(meter.fragment({.cpu = 8000, .milli = left}), 5 * 300 + 3 * 300 + 2 * 1300);
  EXPECT_EQ(FragmentMeter(target, "T4").fragment({.cpu = 8000, .milli = left}),
            5 * 300 + 3 * 300 + 300 + 1300);
  // Without cpu nobody can use anything.
  EXPECT_EQ(meter.fragment({.cpu = 0, .milli = left}), 10 * 1300);
  EXPECT_THAT(
      meter.published_fragment({.cpu = 8000, .milli = left}),
      DoubleNear(static_cast<double>(meter.fragment({.cpu = 8000, .milli = left})) / 10, 1e-9));
}

TEST(TypicalPods, TheMostFrequentKindsUpTo95Percent) {
  std::vector<GpuDemand> pods(90, {.cpu = 1000, .milli = 500, .gpus = 1});
  pods.insert(pods.end(), 5, {.cpu = 2000, .milli = 1000, .gpus = 1});
  pods.insert(pods.end(), 4, {.cpu = 0});
  pods.push_back({.cpu = 9000});
  const TargetWorkload target = typical_pods(pods);
  EXPECT_EQ(target.all, 100);
  ASSERT_EQ(target.pods.size(), 2U);
  EXPECT_EQ(target.pods[0].count, 90);
  EXPECT_EQ(target.pods[1].demand.milli, 1000);
  EXPECT_EQ(typical_pods(std::vector<GpuDemand>(1)).pods[0].demand.cpu, 100) << "counts as 100m";
}

TEST(Fgd, AFreeGpuIsLeftFree) {
  SchedulingWorld world(packing("FGD"));
  world.with(gpu_node("free", 64, 1)).with(gpu_node("half", 64, 1));
  world.with(holding("a", 1, 500, "0"), "half");
  // free: F 1000 -> 500 of 10 pods: before: cpu pod fits no GPU 1000, T4 1000; 2000. After, 500
  // left: 5 x 0 + 3 x 500 + 2 x 500 = 2500. Fall (2000 - 2500) / 10 = -50: 100 / (1 + e^0.05) = 48.
  // half: before 2500, after 0. Fall 250: 100 / (1 + e^-0.25) = 56.
  EXPECT_THAT(world.scores(part("p", 8, 500), "FGD"),
              UnorderedElementsAre(Pair("free", 48), Pair("half", 56)));
}

TEST(BidPrice, ARemainderNobodyWantsIsSpentAlready) {
  TargetWorkload target{.pods = {{.demand = {.milli = 800, .gpus = 1}, .count = 50},
                                 {.demand = {.milli = 500, .gpus = 1}, .count = 50},
                                 {.demand = {.milli = 100, .gpus = 1}, .count = 1}},
                        .all = 101};
  const PartPrices prices(target);
  EXPECT_THAT(prices.worth(1000), DoubleNear(1000, 1e-6));
  EXPECT_THAT(prices.price(800), DoubleNear(1000, 20));
  EXPECT_THAT(prices.price(500), DoubleNear(500, 20));
  EXPECT_THAT(prices.price(100), DoubleNear(0, 20));
  EXPECT_THAT(prices.regret(1000, 800), DoubleNear(0, 20));
  EXPECT_GT(prices.regret(500, 100), 400) << "spoils the room of a 500";
  // No filling of a GPU is worth more than the GPU.
  for (int a = 0; a <= 1; ++a) {
    for (int b = 0; b <= 2; ++b) {
      for (int c = 0; a * 800 + b * 500 + c * 100 <= 1000; ++c) {
        EXPECT_LE(a * prices.price(800) + b * prices.price(500) + c * prices.price(100),
                  1000 + 1e-6);
      }
    }
  }
}

TEST(BidPrice, LeavesScarceModelsToPodsThatNeedThem) {
  SchedulingWorld world(packing("BidPrice"));
  world.with(gpu_node("t4", 640, 1, "T4")).with(gpu_node("v100", 64, 8));
  const auto scores = world.scores(part("p", 4, 1000), "BidPrice");
  EXPECT_LT(scores.at("t4"), scores.at("v100"));
}

TEST(TargetWorkload, IsRequiredAndRead) {
  const auto missing = Framework::make(test::profile_of("FGD"), builtin_plugins());
  ASSERT_FALSE(missing);
  EXPECT_THAT(to_string(missing.error()), HasSubstr("targetWorkload"));
  const auto wrong =
      Framework::make(test::profile_of("BidPrice", json_of(R"({"targetWorkload": {"typical": [
          {"cpu": "1", "gpuMilli": 2000, "gpus": 1, "count": 1}]}})")),
                      builtin_plugins());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("gpuMilli"));
  const auto target = *api::decode_document<TargetWorkload>(json_of(kTarget).at("targetWorkload"));
  const auto again = *api::decode_document<TargetWorkload>(to_document(target));
  EXPECT_EQ(again.pods, target.pods);
  EXPECT_EQ(again.all, 12);
}

/// Two equal worlds, one decided by a Decider that lives on, one by schedule_one.
class GpuPolicyHistory : public testing::TestWithParam<std::uint64_t> {};

/// Milli held of each GPU by the annotations of the pods on a node.
std::map<int, int> held_by_annotation(const ClusterState& state, const NodeInfo& node,
                                      const std::map<std::string, std::string>& index) {
  std::map<int, int> held;
  for (const PodSlot slot : node.pods) {
    const PodInfo& pod = *state.placed(slot).pod;
    if (pod.share == nullptr) {
      continue;
    }
    std::stringstream indices(index.at(pod.uid));
    for (std::string text; std::getline(indices, text, '-');) {
      held[std::stoi(text)] += pod.share->milli;
    }
  }
  return held;
}

TEST_P(GpuPolicyHistory, DeciderAgreesAndNoGpuIsGivenTwice) {
  constexpr std::string_view kPlugins[] = {"BestFit",       "DotProduct", "GpuPacking",
                                           "GpuClustering", "FGD",        "BidPrice"};
  Rng rng(GetParam());
  const auto profile = packing(kPlugins[GetParam() % std::size(kPlugins)]);
  SchedulingWorld quick(profile);
  SchedulingWorld plain(profile);
  Decider decider(quick.framework(), quick.state());
  std::map<std::string, std::string> index; // uid -> annotation
  for (int step = 0; step < 150; ++step) {
    SCOPED_TRACE(fmt::format("seed {} step {}", GetParam(), step));
    if (step < 4 || rng.chance(1, 15)) {
      auto builder =
          gpu_node(fmt::format("n{}", rng.below(8)), static_cast<int>(8 * rng.between(1, 8)), 4,
                   rng.chance(1, 2) ? "T4" : "V100");
      quick.with(builder);
      plain.with(builder);
    }
    if (!index.empty() && rng.chance(1, 3)) {
      const auto gone =
          std::next(index.begin(), static_cast<std::ptrdiff_t>(rng.below(index.size())));
      quick.state().remove_pod(gone->first);
      plain.state().remove_pod(gone->first);
      index.erase(gone);
    }
    constexpr int kMilli[] = {100, 250, 500, 810, 1000};
    const int milli = kMilli[rng.below(5)];
    auto builder = part(fmt::format("p{}", step), static_cast<int>(rng.between(1, 4)), milli,
                        milli == 1000 ? static_cast<int>(rng.between(1, 3)) : 1);
    if (rng.chance(1, 4)) {
      builder.annotation(model::kGpuCardModel, "T4");
    }
    const Decision a = decider.decide(quick.describe(builder));
    const Decision b = schedule_one(plain.framework(), plain.state(), plain.describe(builder));
    ASSERT_EQ(a.node_name, b.node_name) << a.message << " / " << b.message;
    ASSERT_EQ(a.gpus, b.gpus);
    ASSERT_EQ(a.message, b.message);
    if (a.placed()) {
      index[fmt::format("default/p{}", step)] = a.annotations.at(std::string(model::kGpuIndex));
    }
    for (const NodeId id : quick.state().nodes()) {
      const NodeInfo& info = quick.state().node(id);
      const auto held = held_by_annotation(quick.state(), info, index);
      for (int gpu = 0; gpu < 4; ++gpu) {
        const auto it = held.find(gpu);
        ASSERT_EQ(info.parts.milli[static_cast<std::size_t>(gpu)],
                  it == held.end() ? 0 : it->second);
        ASSERT_LE(info.parts.milli[static_cast<std::size_t>(gpu)], 1000);
      }
    }
  }
  EXPECT_GT(decider.quick_decisions(), 15U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GpuPolicyHistory, test::seeds(60));

} // namespace
} // namespace berth::sched
