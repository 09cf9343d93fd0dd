// The plugin itself: lone pods, single members, GPU sets; and where it has nothing new to say, that
// it says what DefaultPreemption says.
#include "berth/gang/gang_preemption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/rng.h"
#include "berth/gang/preemption_fixture.h"

namespace berth::gang {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GangPreemptionTest : public testing::Test {
 protected:
  static test::PodBuilder pod(std::string_view name, int gpus) {
    return PreemptionWorld::pod(name, gpus);
  }
  /// A pod on these GPUs of its node.
  static test::PodBuilder holds(std::string_view name, int gpus, std::string_view indices) {
    return pod(name, gpus).annotation(std::string(model::kGpuIndicesAnnotation), indices);
  }
  sched::Decision high(int gpus) {
    return world.decide(world.waits(pod("high", gpus).priority(1000)));
  }
  std::vector<std::string> evicted_for(int gpus) {
    const sched::Decision decision = high(gpus);
    world.state().clear_nomination("uid-high");
    return PreemptionWorld::names(decision.victims);
  }

  PreemptionWorld world;
};

// ---- lone pods

TEST_F(GangPreemptionTest, SaysWhoGoesForWhomAndWhy) {
  world.nodes({"n1"}).runs(pod("a", 4).priority(10), "n1").runs(pod("b", 4).priority(5), "n1");
  const sched::Decision decision = high(2);
  EXPECT_THAT(PreemptionWorld::names(decision.victims), ElementsAre("b"));
  EXPECT_EQ(decision.nominated_node, "n1");
  EXPECT_EQ(decision.preemption_note,
            "evicting pod \"default/b\" (4 GPUs, priority 5) so that pod \"default/high\" fits on "
            "node n1; the cheapest set found on 1 node: highest priority 5, 0 running groups "
            "broken, 4 GPUs, 0 disruption budgets violated");
  EXPECT_EQ(decision.message,
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: " +
                decision.preemption_note + ".");
}

TEST_F(GangPreemptionTest, APodBreaksAGroupAsAWhole) {
  world.nodes({"n1", "n2"}).group("low", 2);
  world.runs(pod("low-0", 8).in_group("low"), "n1").runs(pod("low-1", 8).in_group("low"), "n2");
  EXPECT_THAT(evicted_for(8), ElementsAre("low-0", "low-1"));
}

TEST_F(GangPreemptionTest, APodBreaksNoGroupWhereOthersCanGo) {
  world.nodes({"n1", "n2"}).group("low", 1);
  world.runs(pod("low-0", 8).in_group("low"), "n1");
  for (int i = 0; i < 8; ++i) {
    world.runs(pod(fmt::format("p{}", i), 1), "n2");
  }
  EXPECT_THAT(evicted_for(8), testing::SizeIs(8)) << "kube-scheduler would evict one pod: low-0";
}

TEST_F(GangPreemptionTest, LooksAtEveryNode) {
  for (int i = 0; i < 300; ++i) {
    world.with(PreemptionWorld::node(fmt::format("n{}", i)));
    world.runs(pod(fmt::format("p{}", i), 8).priority(i == 177 ? 1 : 2), fmt::format("n{}", i));
  }
  EXPECT_THAT(evicted_for(8), ElementsAre("p177"));
}

TEST_F(GangPreemptionTest, SaysWhyNobodyGoes) {
  world.nodes({"n1", "n2"}).nodes({"small"}, 4);
  world.runs(pod("a", 8).priority(1000), "n1").runs(pod("b", 8).priority(1000), "n2");
  EXPECT_EQ(high(8).message,
            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. no new claims to deallocate, "
            "preemption: 0/3 nodes are "
            "available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found "
            "for incoming pod.");
}

TEST_F(GangPreemptionTest, NeverMeansNever) {
  world.nodes({"n1"}).runs(pod("a", 8), "n1");
  const auto decision =
      world.decide(world.waits(pod("shy", 8).priority(9).preemption_policy("Never")));
  EXPECT_THAT(decision.victims, IsEmpty());
  EXPECT_THAT(decision.message,
              HasSubstr("preemption: not eligible due to preemptionPolicy=Never."));
}

TEST_F(GangPreemptionTest, WaitsForVictimsThatAreLeaving) {
  world.nodes({"n1", "n2"}).runs(PreemptionWorld::evicted(pod("a", 8)), "n1");
  world.runs(pod("b", 8), "n2");
  const auto decision = world.decide(world.waits(pod("high", 8).priority(9).nominated("n1")));
  EXPECT_THAT(decision.victims, IsEmpty());
  EXPECT_THAT(decision.message, HasSubstr("due to a terminating pod on the nominated node."));
}

// ---- members decided singly

TEST_F(GangPreemptionTest, AMemberEvictsOnlyForAGroupThatIsWholeWithIt) {
  world.nodes({"n1", "n2", "n3"}).group("g", 3);
  world.runs(pod("low", 8), "n1").runs(pod("g-0", 8).in_group("g").priority(9), "n2");
  const auto extra = world.waits(pod("g-1", 8).in_group("g").priority(9));
  world.waits(pod("g-2", 8).in_group("g").priority(9));
  world.runs(pod("taken", 8).priority(9), "n3");
  EXPECT_THAT(world.decide(extra).victims, IsEmpty());
  world.group("g", 2);
  EXPECT_THAT(PreemptionWorld::names(world.decide(extra).victims), ElementsAre("low"));
}

// ---- GPU sets

// On a machine of four GPUs per socket a pair on one socket is faster than one across.
TEST_F(GangPreemptionTest, FreesGpusThatHangTogether) {
  world.with(PreemptionWorld::machine("n1", "l40s-pcie-8", 8));
  // GPU 0 is free; the least important pod's GPU is on the other socket.
  world.runs(holds("far", 1, "7").priority(1), "n1").runs(holds("near", 1, "1").priority(2), "n1");
  world.runs(holds("rest", 5, "2,3,4,5,6").priority(5000), "n1");
  EXPECT_THAT(evicted_for(2), ElementsAre("near"));
}

TEST_F(GangPreemptionTest, BudgetsComeBeforeGpusThatHangTogether) {
  world.with(PreemptionWorld::machine("n1", "l40s-pcie-8", 8)).budget("web", 0);
  world.runs(holds("far", 1, "7").priority(2), "n1");
  world.runs(holds("near", 1, "1").priority(1).label("app", "web"), "n1");
  world.runs(holds("rest", 5, "2,3,4,5,6").priority(5000), "n1");
  EXPECT_THAT(evicted_for(2), ElementsAre("far"));
}

TEST_F(GangPreemptionTest, EqualGpuSetsAreLeftToTheStockOrder) {
  world.with(PreemptionWorld::machine("n1", "dgx-h100", 8));
  world.runs(holds("a", 2, "0,7").priority(2), "n1").runs(holds("b", 2, "1,2").priority(1), "n1");
  world.runs(holds("rest", 4, "3,4,5,6").priority(5000), "n1");
  EXPECT_THAT(evicted_for(2), ElementsAre("b")) << "every GPU reaches every other at full rate";
}

TEST_F(GangPreemptionTest, WithoutGpuTopologyGpusAreAlike) {
  world.with(PreemptionWorld::node("n1"));
  world.runs(holds("far", 1, "7").priority(1), "n1").runs(holds("near", 1, "1").priority(2), "n1");
  world.runs(holds("rest", 5, "2,3,4,5,6").priority(5000), "n1");
  EXPECT_THAT(evicted_for(2), ElementsAre("far"));
}

// ---- beside DefaultPreemption

/// Lone pods of one GPU each on one node: nothing is there to be better at.
TEST_F(GangPreemptionTest, AgreesWithDefaultPreemptionOnLonePods) {
  int evictions = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Rng rng(seed);
    PreemptionWorld lone;
    const auto nodes = rng.between(1, 4);
    if (rng.between(0, 2) == 0) {
      lone.budget("web", rng.between(0, 2));
    }
    for (int n = 0; n < nodes; ++n) {
      lone.with(PreemptionWorld::node(fmt::format("n{}", n), 4));
      for (int p = 0; p < rng.between(2, 4); ++p) {
        test::PodBuilder made = pod(fmt::format("p{}-{}", n, p), 1).priority(rng.between(0, 4));
        if (rng.between(0, 3) == 0) {
          made.label("app", "web");
        }
        lone.runs(PreemptionWorld::started(made, rng.between(1, 1000)), fmt::format("n{}", n));
      }
    }
    const auto high = lone.waits(pod("high", static_cast<int>(rng.between(1, 4))).priority(3));
    const auto stock = lone.make_framework("DefaultPreemption");
    const sched::Decision expected = schedule_one(*stock, lone.state(), high, {});
    if (expected.placed()) {
      continue;
    }
    lone.state().clear_nomination(high->uid);
    const sched::Decision decision = lone.decide(high);
    EXPECT_EQ(PreemptionWorld::names(decision.victims), PreemptionWorld::names(expected.victims))
        << "seed " << seed;
    EXPECT_EQ(decision.nominated_node, expected.nominated_node) << "seed " << seed;
    evictions += decision.victims.empty() ? 0 : 1;
  }
  EXPECT_GT(evictions, 50);
}

TEST(GangPreemptionArgs, ThereAreNone) {
  const auto factory = gang_preemption_plugin(std::make_shared<const Groups>());
  EXPECT_TRUE(factory({.args = nullptr, .version = {}}));
  EXPECT_TRUE(factory({.args = *api::parse_json("{}"), .version = {}}));
  const auto refused = factory({.args = *api::parse_json(R"({"gangAware": true})"), .version = {}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("gangAware: unknown field"));
}

} // namespace
} // namespace berth::gang
