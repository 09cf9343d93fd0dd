#include "berth/sched/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/decider.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::SchedulingWorld;
using testing::ElementsAre;

struct Enough {
  std::size_t nodes;
  std::int64_t percentage;
  std::size_t want;
};

TEST(NodesToFind, IsKubeSchedulersTable) {
  for (const Enough& each :
       {Enough{50, 0, 50}, Enough{99, 1, 99}, Enough{100, 0, 100}, Enough{500, 0, 230},
        Enough{1000, 0, 420}, Enough{2000, 0, 680}, Enough{5000, 0, 500}, Enough{5625, 0, 281},
        Enough{10000, 0, 500}, Enough{15000, 0, 750}, Enough{1000, 30, 300}, Enough{1000, 5, 100},
        Enough{1000, 100, 1000}}) {
    EXPECT_EQ(nodes_to_find(each.nodes, each.percentage), each.want)
        << each.nodes << " nodes, " << each.percentage << " percent";
  }
}

Profile fit_only(std::optional<std::int64_t> percentage) {
  Profile profile = test::profile_of("NodeResourcesFit");
  profile.percentage_of_nodes = percentage;
  return profile;
}

TEST(NodesToFind, IsAProfilesChoice) {
  const Registry registry = builtin_plugins();
  const auto enough = [&](const Profile& profile) {
    return nodes_to_find(*Framework::make(profile, registry), 1000);
  };
  EXPECT_EQ(enough(fit_only(std::nullopt)), std::nullopt);
  EXPECT_EQ(enough(fit_only(0)), 420U);
  EXPECT_EQ(enough(fit_only(20)), 200U);
  Profile scoreless = fit_only(20);
  scoreless.plugins.back().points = static_cast<Points>(Point::Filter);
  EXPECT_EQ(enough(scoreless), 1U) << "nothing would tell them apart";
}

TEST(NodeSampling, TakesZonesInTurnAndGoesOnWhereItEnded) {
  SchedulingWorld world(fit_only(0));
  const auto zoned = [](const char* name, const char* zone) {
    return node(name).label("topology.kubernetes.io/zone", zone);
  };
  world.with(zoned("a1", "a")).with(zoned("a2", "a")).with(zoned("a3", "a"));
  world.with(zoned("b1", "b")).with(node("none"));
  NodeSampling sampling;
  const auto names = [&] {
    std::vector<std::string> out;
    for (const NodeId id : sampling.order(world.state())) {
      out.push_back(world.state().node_name(id));
    }
    return out;
  };
  EXPECT_THAT(names(), ElementsAre("a1", "b1", "none", "a2", "a3"));
  sampling.looked_at(3, 5);
  EXPECT_THAT(names(), ElementsAre("a2", "a3", "a1", "b1", "none"));
  sampling.looked_at(4, 5);
  EXPECT_THAT(names(), ElementsAre("none", "a2", "a3", "a1", "b1"));
  world.with(zoned("b2", "b"));
  EXPECT_THAT(names(), ElementsAre("none", "a2", "b2", "a3", "a1", "b1"));
}

/// 200 nodes; 10 percent, at least 100, is what a sampled search looks at.
class Sampled : public testing::Test {
 protected:
  Sampled() : world(fit_only(10)) {
    for (int i = 0; i < 200; ++i) {
      world.with(node("n" + std::to_string(i)).cpu(i == 150 ? "64" : "8"));
    }
  }
  Decision decide(const char* name, NodeSampling* with) {
    CycleOptions options;
    options.sampling = with;
    return decider.decide(world.describe(pod(name).cpu("4")), options);
  }

  SchedulingWorld world;
  Decider decider{world.framework(), world.state()};
  NodeSampling sampling;
};

TEST_F(Sampled, TheBestOfTheSampleWins) {
  EXPECT_EQ(decide("first", &sampling).node_name, "n0") << "n150 is emptier and was not looked at";
  EXPECT_EQ(decide("second", &sampling).node_name, "n150") << "the second half's turn";
  EXPECT_EQ(decide("third", &sampling).feasible_nodes, 100);
}

TEST_F(Sampled, WithoutASamplingAllNodesAreLookedAt) {
  const Decision decision = decide("p", nullptr);
  EXPECT_EQ(decision.node_name, "n150");
  EXPECT_EQ(decision.feasible_nodes, 200);
}

TEST_F(Sampled, AFailureHasLookedEverywhere) {
  CycleOptions options;
  options.sampling = &sampling;
  const Decision decision = decider.decide(world.describe(pod("huge").cpu("100")), options);
  EXPECT_THAT(decision.message, testing::HasSubstr("0/200 nodes are available"));
  EXPECT_THAT(decision.message, testing::HasSubstr("200 Insufficient cpu"));
}

} // namespace
} // namespace berth::sched
