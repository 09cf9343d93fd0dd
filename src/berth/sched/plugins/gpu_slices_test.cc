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

/// A pod of those that are there already, with its choice.
test::PodBuilder has(std::string_view name, std::string_view resource, int count,
                     std::string_view on) {
  auto builder = asks(name, resource, count);
  return builder.annotation(model::kGpuSlicesAnnotation, fmt::format("{}={}", resource, on));
}

struct ScoreCase {
  std::string name;
  test::PodBuilder pod;
  std::map<std::string, std::int64_t> scores;
  boost::json::value args = nullptr;
};
std::ostream& operator<<(std::ostream& out, const ScoreCase& each) {
  return out << each.name;
}
class SliceScores : public ::testing::TestWithParam<ScoreCase> {};

// "free" and "used" are cut alike: 4 and 1, 3, and 2 devices on GPUs 0, 1 and 2.
TEST_P(SliceScores, PreferGpusInUse) {
  SchedulingWorld world(test::profile_of("GpuSlices", GetParam().args));
  world.with(cut_node("free")).with(cut_node("used")).with(cut_node("full"));
  world.with(node("whole").gpus(4)).with(shared_node("shared")).with(shared_node("idle"));
  world.with(has("a", kMig1, 2, "0x2"), "used");
  world.with(has("b", kMig1, 4, "0x4"), "full").with(has("c", kMig3, 1, "0x1"), "full");
  world.with(has("d", kMig1, 3, "1x3"), "full").with(has("e", kMig3, 1, "2x1"), "full");
  world.with(has("f", kShared, 3, "0x2,1x1"), "shared");
  auto scores = world.scores(GetParam().pod, "GpuSlices");
  std::erase_if(scores, [](const auto& each) { return each.second == 0; });
  EXPECT_EQ(scores, GetParam().scores);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, SliceScores,
    ::testing::Values(
        ScoreCase{"OneBesideOthersOfItsProfile", asks("p", kMig1), {{"used", 70}}},
        ScoreCase{
            "OneBesideOthersOfAnotherProfile", asks("p", kMig3), {{"used", 70}, {"full", 75}}},
        ScoreCase{"SomeInUseSomeNot", asks("p", kMig1, 3), {{"used", (70 + 70 + 25) / 3}}},
        ScoreCase{"ReplicasAlike", asks("p", kShared), {{"shared", 62}}},
        ScoreCase{"TurnedRound",
                  asks("p", kMig1),
                  {{"used", 30}, {"free", 100}},
                  test::json_of(R"({"scoringStrategy": {"type": "LeastAllocated"}})")},
        ScoreCase{"NobodyGivesSlicesOfIt", pod("p").gpus(2), {}},
        ScoreCase{"NothingIsAskedFor", pod("p").cpu("1"), {}}),
    [](const auto& each) { return each.param.name; });

TEST(GpuSlices, AreScoredOnceSomebodyGivesThem) {
  SchedulingWorld world(slices_profile());
  world.with(node("m").resource(kMig1, "7")).with(node("n").resource(kMig1, "7"));
  EXPECT_EQ(world.scores(asks("p", kMig1), "GpuSlices"), (std::map<std::string, std::int64_t>{}));
  world.with(cut_node("used")).with(cut_node("free"));
  world.with(has("a", kMig1, 1, "0x1"), "used");
  EXPECT_EQ(world.decide(asks("p", kMig1)).node_name, "used");
}

test::NodeBuilder limited_node(std::string_view name) {
  auto builder = node(name);
  builder.resource(kShared, "8")
      .resource(kMig1, "7")
      .annotation(model::kGpuDevicesAnnotation,
                  "nvidia.com/gpu.shared=one-replica:0x4,1x4;nvidia.com/mig-1g.10gb=mig:2x7");
  return builder;
}

struct LimitCase {
  const char* name;
  test::PodBuilder pod;
  const char* limited; ///< what the node says that gives one to a container
};
std::ostream& operator<<(std::ostream& out, const LimitCase& each) {
  return out << each.name;
}
class ReplicaLimits : public ::testing::TestWithParam<LimitCase> {};

TEST_P(ReplicaLimits, AreOfEachContainer) {
  SchedulingWorld world(slices_profile());
  world.with(shared_node("many")).with(limited_node("one"));
  const auto verdicts = world.verdicts(GetParam().pod);
  EXPECT_EQ(verdicts.at("one"), GetParam().limited);
  EXPECT_EQ(verdicts.at("many").find("replica"), std::string::npos);
}

constexpr const char* kRefused =
    "UnschedulableAndUnresolvable: node(s) gave at most one replica of nvidia.com/gpu.shared to a "
    "container";

INSTANTIATE_TEST_SUITE_P(
    Pods, ReplicaLimits,
    ::testing::Values(LimitCase{"One", asks("p", kShared), "ok"},
                      LimitCase{"Two", asks("p", kShared, 2), kRefused},
                      LimitCase{"TwoByLimitAlone", pod("p").limit(kShared, "2"), kRefused},
                      LimitCase{"OneInEachOfTwoContainers",
                                asks("p", kShared).container("b").extended(kShared, "1"), "ok"},
                      LimitCase{"TwoInTheSecondContainer",
                                asks("p", kShared).container("b").extended(kShared, "2"), kRefused},
                      LimitCase{"TwoInAnInitContainer",
                                asks("p", kShared).init_container("i").extended(kShared, "2"),
                                kRefused},
                      LimitCase{"TwoInASidecar",
                                asks("p", kShared).sidecar("s").extended(kShared, "2"), kRefused},
                      LimitCase{"TwoOfAnotherResource", asks("p", kMig1, 2), "ok"}),
    [](const auto& each) { return each.param.name; });

TEST(GpuSlices, AStockNodesStrategyMpsGivesAContainerOne) {
  SchedulingWorld world(slices_profile());
  const auto shared = [](std::string_view name, std::string_view strategy) {
    auto builder = node(name);
    builder.gpus(4).label("nvidia.com/gpu.sharing-strategy", strategy);
    return builder;
  };
  world.with(shared("mps", "mps")).with(shared("slices", "time-slicing"));
  EXPECT_THAT(world.verdicts(pod("p").gpus(2)).at("mps"),
              HasSubstr("gave at most one replica of nvidia.com/gpu to a container"));
  EXPECT_EQ(world.decide(pod("p").gpus(2)).node_name, "slices");
  EXPECT_EQ(world.verdicts(pod("q").gpus(1)).at("mps"), "ok");
}

TEST(GpuSlices, NobodyIsEvictedForAPodThatTheNodeWouldTurnAway) {
  SchedulingWorld world(slices_profile());
  world.with(limited_node("n"));
  for (int i = 0; i < 8; ++i) {
    world.with(asks(fmt::format("low-{}", i), kShared).priority(0), "n");
  }
  const Decision decision = world.decide(asks("high", kShared, 2).priority(100));
  EXPECT_FALSE(decision.placed());
  EXPECT_TRUE(decision.victims.empty());
}

TEST(GpuSlices, AreGivenInNumbersOnceTheNodeSaysSo) {
  SchedulingWorld world(slices_profile());
  world.with(limited_node("n"));
  EXPECT_FALSE(world.decide(asks("a", kShared, 2)).placed());
  world.with(shared_node("n"));
  EXPECT_TRUE(world.decide(asks("a", kShared, 2)).placed());
}

TEST(GpuSlices, ArgsAreChecked) {
  const auto refused =
      parse_gpu_slices_args(test::json_of(R"({"scoringStrategy": {"type": "Most"}})"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()),
              HasSubstr("scoringStrategy.type: Unsupported value: \"Most\""));
  EXPECT_FALSE(parse_gpu_slices_args(test::json_of(R"({"scoring": {}})")));
  EXPECT_TRUE(parse_gpu_slices_args(nullptr));
}

// On random nodes: whoever scores best by the rule written out again from what was chosen.
class SliceScoreHistories : public ::testing::TestWithParam<int> {};

TEST_P(SliceScoreHistories, TheScoreIsThatOfTheChoiceReserveMakes) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  SchedulingWorld world(slices_profile());
  for (const char* name : {"a", "b", "c"}) {
    world.with(cut_node(name));
  }
  for (int turn = 0; turn < 60; ++turn) {
    const std::string name = fmt::format("p{}", rng.below(14));
    if (world.state().find_pod("default/" + name) != nullptr) {
      world.state().remove_pod("default/" + name);
      continue;
    }
    const auto asked =
        asks(name, rng.chance(1, 2) ? kMig1 : kMig3, static_cast<int>(rng.between(1, 2)));
    const auto scores = world.scores(asked, "GpuSlices");
    // What is there and taken, before.
    std::map<std::string, std::map<int, std::pair<int, int>>> gpus; // taken, there
    for (const char* each : {"a", "b", "c"}) {
      const NodeInfo& info = world.state().node(*world.state().find_node(each));
      for (const ResourceSlices& slices : info.slices) {
        for (std::size_t gpu = 0; gpu < kMaxGpus; ++gpu) {
          auto& [taken, there] = gpus[each][static_cast<int>(gpu)];
          taken += slices.taken[gpu];
          there += slices.there[gpu];
        }
      }
    }
    const Decision decision = world.decide(asked);
    if (!decision.placed() || scores.size() < 2) {
      continue;
    }
    const auto& before = gpus[decision.node_name];
    const bool node_in_use =
        std::ranges::any_of(before, [](const auto& each) { return each.second.first > 0; });
    std::int64_t devices = 0;
    std::int64_t in_use = 0;
    std::int64_t fill = 0;
    for (const auto& [resource, counts] : model::parse_chosen_slices(chosen(decision))) {
      for (const auto& [gpu, count] : counts) {
        const auto [taken, there] = before.at(gpu);
        devices += count;
        in_use += taken > 0 ? count : 0;
        fill += count * taken * 100 / there;
      }
    }
    ASSERT_GT(devices, 0);
    const std::int64_t free = node_in_use ? (devices - in_use) * 25 : 0;
    ASSERT_EQ(scores.at(decision.node_name), (in_use * 50 + fill / 2 + free) / devices);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SliceScoreHistories, ::testing::Range(1, 21));

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
