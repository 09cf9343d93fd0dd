// Whole plans on small clusters against trying every set of victims.
#include "berth/gang/eviction_search.h"

#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/gang/choose_domain.h"
#include "berth/gang/preemption_fixture.h"

namespace berth::gang {
namespace {

/// A cluster full of lone pods and groups of many sizes and priorities, and a group that waits.
struct Scene {
  explicit Scene(std::uint64_t seed) : rng(seed) {
    const auto nodes = rng.between(1, 4);
    for (int n = 0; n < nodes; ++n) {
      test::NodeBuilder node = PreemptionWorld::node(fmt::format("n{}", n), 4);
      world.with(node.label("rack", fmt::format("r{}", n / 2)));
    }
    for (int g = 0; g < 3; ++g) {
      world.group(fmt::format("g{}", g), rng.between(1, 3));
    }
    if (rng.between(0, 2) == 0) {
      world.budget("web", rng.between(0, 2));
    }
    for (int p = 0; p < 9; ++p) {
      test::PodBuilder made =
          PreemptionWorld::pod(fmt::format("p{}", p), static_cast<int>(rng.between(1, 4)));
      made.priority(rng.between(0, 5));
      if (rng.between(0, 2) > 0) {
        made.in_group(fmt::format("g{}", rng.between(0, 2)));
      }
      if (rng.between(0, 3) == 0) {
        made.label("app", "web");
      }
      run_somewhere(made);
    }
  }

  void run_somewhere(const test::PodBuilder& made) {
    const sched::PodPtr pod = world.state().describe(made.build());
    for (const sched::NodeId node : world.state().nodes()) {
      const sched::NodeInfo& info = world.state().node(node);
      if (info.requested.get(sched::kGpu) + pod->gpus <= info.allocatable.get(sched::kGpu)) {
        world.runs(made, info.name());
        return;
      }
    }
  }

  /// Members of one shape, or of two.
  std::vector<sched::PodPtr> pending(bool mixed) {
    const auto members = rng.between(1, 4);
    world.group("big", rng.between(1, members));
    const bool required = rng.between(0, 3) == 0;
    const auto gpus = rng.between(1, 4);
    std::vector<sched::PodPtr> pods;
    for (int m = 0; m < members; ++m) {
      const auto own = mixed && m % 2 == 1 ? rng.between(0, 2) : gpus;
      test::PodBuilder made = PreemptionWorld::pod(fmt::format("big-{}", m), static_cast<int>(own));
      made.priority(4).in_group("big");
      if (required) {
        made.annotation(std::string(kRequiredTopology), "rack");
      }
      pods.push_back(world.waits(made));
    }
    return pods;
  }

  PreemptionWorld world;
  Rng rng;
};

/// Does place_group place the group once these are gone? The state is as before afterwards.
bool fits_without(PreemptionWorld& world, const GroupRequest& request,
                  const std::vector<sched::PodPtr>& gone) {
  std::vector<sched::Undo> removed;
  for (const sched::PodPtr& pod : gone) {
    removed.push_back(world.state().try_remove(pod->uid));
  }
  sched::Decider decider(world.framework(), world.state());
  const GroupDecision decision = place_group(decider, request);
  for (auto it = decision.members.rbegin(); it != decision.members.rend(); ++it) {
    if (it->decision.placed()) {
      undo_decision(world.framework(), world.state(), it->pod, it->decision.node);
    }
  }
  while (!removed.empty()) {
    removed.pop_back();
  }
  return decision.placed;
}

/// May just these go: each of lower priority, and of every group either so many that minMember
/// stay, or all, if all are of lower priority?
bool allowed(PreemptionWorld& world, const std::vector<sched::PodPtr>& gone,
             std::int64_t priority) {
  std::map<api::Key, std::int64_t> going;
  for (const sched::PodPtr& pod : gone) {
    if (pod->priority >= priority) {
      return false;
    }
    if (!pod->pod->pod_group().empty()) {
      ++going[group_of(*pod)];
    }
  }
  return std::ranges::all_of(going, [&](const auto& entry) {
    const auto members = world.groups().members(entry.first);
    const auto count = std::ssize(members);
    return entry.second == count ||
           count - entry.second >= world.groups().find(entry.first)->min_member;
  });
}

/// The lowest "highest priority" with which the group can be helped; none if it cannot be.
std::optional<std::int64_t> least_highest(PreemptionWorld& world, const GroupRequest& request,
                                          std::int64_t priority) {
  std::vector<sched::PodPtr> pods;
  for (const sched::PlacedPod* placed : world.state().placed_pods()) {
    pods.push_back(placed->pod);
  }
  std::optional<std::int64_t> least;
  for (std::uint32_t subset = 1; subset < (1U << pods.size()); ++subset) {
    std::vector<sched::PodPtr> gone;
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < pods.size(); ++i) {
      if ((subset >> i & 1U) != 0) {
        gone.push_back(pods[i]);
        highest = std::max(highest, pods[i]->priority);
      }
    }
    if ((!least || highest < *least) && allowed(world, gone, priority) &&
        fits_without(world, request, gone)) {
      least = highest;
    }
  }
  return least;
}

class EvictionSearchTest : public testing::TestWithParam<bool> {};

TEST_P(EvictionSearchTest, AgreesWithTryingEverySet) {
  const bool mixed = GetParam();
  int helped = 0;
  int vain = 0;
  int whole_groups = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Scene scene(seed);
    PreemptionWorld& world = scene.world;
    const std::vector<sched::PodPtr> pods = scene.pending(mixed);
    const GroupRequest request = world.request(pods);
    if (fits_without(world, request, {})) {
      continue;
    }
    const std::string before = world.state().dump();
    const GroupPreemption found = world.plan(pods);
    ASSERT_EQ(world.state().dump(), before);
    if (!found.plan) {
      EXPECT_EQ(found.reason, kGroupInVain);
      if (!mixed) {
        EXPECT_EQ(least_highest(world, request, 4), std::nullopt) << "somebody could have gone";
      }
      ++vain;
      continue;
    }
    ++helped;
    const PreemptionPlan& plan = *found.plan;
    const std::vector<sched::PodPtr> victims = plan.victims();
    EXPECT_TRUE(allowed(world, victims, 4)) << "half a group, or somebody too important";
    EXPECT_TRUE(fits_without(world, request, victims)) << "in vain";
    EXPECT_GE(std::ssize(plan.rooms), request.min_member);
    for (const VictimUnit& unit : plan.units) {
      whole_groups += unit.group.name.empty() ? 0 : 1;
      std::vector<sched::PodPtr> fewer = victims;
      std::erase_if(fewer, [&](const sched::PodPtr& pod) {
        return std::ranges::find(unit.pods, pod) != unit.pods.end();
      });
      EXPECT_FALSE(fits_without(world, request, fewer))
          << unit.pods.front()->name() << " need not go";
    }
    if (!mixed && world.state().budgets().empty()) {
      EXPECT_EQ(plan.cost.highest, least_highest(world, request, 4)) << "less important ones do";
    }
  }
  EXPECT_GT(helped, 30);
  EXPECT_GT(vain, 5);
  EXPECT_GT(whole_groups, 10);
}

INSTANTIATE_TEST_SUITE_P(Shapes, EvictionSearchTest, testing::Bool(), [](const auto& mixed) {
  return std::string(mixed.param ? "mixed" : "one");
});

} // namespace
} // namespace berth::gang
