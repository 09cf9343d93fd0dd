#include "berth/sched/cluster_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/builders.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using testing::ElementsAre;
using testing::IsEmpty;

class State : public testing::Test {
 protected:
  NodeId add(const test::NodeBuilder& builder) { return state.set_node(builder.build()); }
  PodPtr describe(const test::PodBuilder& builder) { return state.describe(builder.build()); }
  const NodeInfo& info(std::string_view name) { return state.node(*state.find_node(name)); }
  ClusterState state;
};

TEST_F(State, DescribesAPodOnce) {
  const auto p = describe(
      pod("p").uid("u1").priority(7).cpu("1500m").memory("1Gi").gpus(2).image("train").host_port(
          80));
  EXPECT_EQ(p->uid, "u1");
  EXPECT_EQ(p->priority, 7);
  EXPECT_EQ(p->request(kCpu), 1500);
  EXPECT_EQ(p->request(kMemory), 1 << 30);
  EXPECT_EQ(p->gpus, 2);
  EXPECT_EQ(p->nonzero_cpu, 1500);
  EXPECT_THAT(p->images, ElementsAre("train:latest"));
  ASSERT_EQ(p->host_ports.size(), 1U);
  EXPECT_EQ(p->host_ports[0], (HostPort{.ip = "0.0.0.0", .protocol = "TCP", .port = 80}));
}

TEST_F(State, APodWithoutUidIsNamedByItsKey) {
  EXPECT_EQ(describe(pod("p").ns("x"))->uid, "x/p");
}

TEST_F(State, UnknownBareResourceNamesAreIgnored) {
  const auto p = describe(pod("p").request("sandwiches", "3").request("hugepages-2Mi", "4Mi"));
  ASSERT_EQ(p->requests.size(), 1U);
  EXPECT_EQ(state.resource_names().name(p->requests[0].first), "hugepages-2Mi");
}

TEST_F(State, CountsWhatPodsHold) {
  add(node("n").gpus(8));
  state.assume(describe(pod("a").cpu("1").memory("1Gi").gpus(2).host_port(80)),
               *state.find_node("n"));
  state.set_pod(describe(pod("b").on_node("n").extended("x.example/y", "3")));
  EXPECT_EQ(info("n").requested.get(kCpu), 1000);
  EXPECT_EQ(info("n").requested.get(kGpu), 2);
  EXPECT_EQ(info("n").requested.get(*state.resource_names().find("x.example/y")), 3);
  EXPECT_EQ(info("n").nonzero_cpu, 1100) << "b counts 100m for scoring";
  EXPECT_EQ(info("n").pods.size(), 2U);
  EXPECT_EQ(info("n").used_ports.size(), 1U);
  state.forget("default/a");
  state.remove_pod("default/b");
  EXPECT_EQ(info("n").requested, Resources());
  EXPECT_EQ(info("n").nonzero_cpu, 0);
  EXPECT_THAT(info("n").used_ports, IsEmpty());
  EXPECT_EQ(state.pod_count(), 0U);
}

// ---- assume, confirm, forget
// ----------------------------------------------------------------------------

TEST_F(State, TheInformerConfirmsAnAssumedPod) {
  const NodeId n = add(node("n").platform("dgx-h100").gpus(8));
  state.assume(describe(pod("a").gpus(2)), n, 0b11);
  EXPECT_EQ(state.assumed_count(), 1U);
  state.set_pod(describe(pod("a").gpus(2).on_node("n")));
  EXPECT_EQ(state.assumed_count(), 0U);
  EXPECT_EQ(state.find_pod("default/a")->gpus, 0b11U) << "known GPUs stay";
  state.forget("default/a");
  EXPECT_NE(state.find_pod("default/a"), nullptr) << "a confirmed pod is not forgotten";
}

TEST_F(State, APodThatLandedElsewhereMoves) {
  const NodeId n = add(node("n"));
  add(node("m"));
  state.assume(describe(pod("a").cpu("1")), n);
  state.set_pod(describe(pod("a").cpu("1").on_node("m")));
  EXPECT_THAT(info("n").pods, IsEmpty());
  EXPECT_EQ(info("m").requested.get(kCpu), 1000);
}

TEST_F(State, TerminalPodsFreeTheirNode) {
  add(node("n"));
  state.set_pod(describe(pod("a").on_node("n").cpu("1")));
  state.set_pod(describe(pod("a").on_node("n").cpu("1").phase("Succeeded")));
  EXPECT_EQ(state.find_pod("default/a"), nullptr);
  state.set_pod(describe(pod("b").on_node("n").phase("Failed")));
  EXPECT_EQ(state.pod_count(), 0U);
}

TEST_F(State, PodsWithoutANodeAreNotPlaced) {
  add(node("n"));
  state.set_pod(describe(pod("a")));
  EXPECT_EQ(state.pod_count(), 0U);
}

// ---- nodes
// ----------------------------------------------------------------------------------------------

TEST_F(State, NodesComeInOrderOfArrival) {
  const NodeId z = add(node("z"));
  const NodeId a = add(node("a"));
  add(node("z").gpus(1));
  EXPECT_THAT(state.nodes(), ElementsAre(z, a));
  state.remove_node("z");
  EXPECT_THAT(state.nodes(), ElementsAre(a));
  EXPECT_FALSE(state.find_node("z"));
  EXPECT_EQ(add(node("z")), z) << "a node that returns has its old id";
  EXPECT_THAT(state.nodes(), ElementsAre(a, z));
}

TEST_F(State, PodsOutliveTheirNodesObject) {
  add(node("n").cpu("4"));
  state.set_pod(describe(pod("a").on_node("n").cpu("1")));
  state.remove_node("n");
  EXPECT_THAT(state.nodes(), IsEmpty());
  EXPECT_NE(state.find_pod("default/a"), nullptr);
  add(node("n").cpu("4"));
  EXPECT_EQ(info("n").requested.get(kCpu), 1000);
}

TEST_F(State, PodsMayArriveBeforeTheirNode) {
  state.set_pod(describe(pod("a").on_node("n").cpu("1")));
  EXPECT_THAT(state.nodes(), IsEmpty());
  add(node("n"));
  EXPECT_EQ(info("n").requested.get(kCpu), 1000);
}

TEST_F(State, CountsNodesByImage) {
  add(node("n").image("a:1", 100));
  add(node("m").image("a:1", 200));
  EXPECT_EQ(state.find_image("a:1")->nodes, 2);
  EXPECT_EQ(state.find_image("a:1")->size, 100) << "as first reported";
  state.remove_node("n");
  EXPECT_EQ(state.find_image("a:1")->nodes, 1);
  add(node("m"));
  EXPECT_FALSE(state.find_image("a:1"));
}

// ---- GPUs
// -----------------------------------------------------------------------------------------------

TEST_F(State, KnowsWhichPodHoldsWhichGpu) {
  const NodeId n = add(node("n").platform("dgx-h100").gpus(8));
  ASSERT_EQ(info("n").gpus.all, 0xFFU);
  state.set_pod(describe(pod("a").gpus(2).on_node("n").annotation("berth.dev/gpu-indices", "4,6")));
  EXPECT_EQ(info("n").gpus.held, 0b01010000U);
  EXPECT_EQ(state.placed(info("n").gpus.holder[6]).pod->name(), "a");
  state.assume(describe(pod("b").gpus(1)), n);
  EXPECT_EQ(info("n").gpus.unplaced, 1) << "indices not chosen yet";
  state.hold_gpus(*state.slot_of("default/b"), 0b1);
  EXPECT_EQ(info("n").gpus.unplaced, 0);
  EXPECT_EQ(info("n").gpus.free(), 0b10101110U);
  state.remove_pod("default/a");
  EXPECT_EQ(info("n").gpus.held, 0b1U);
}

TEST_F(State, UnhealthyGpusAreNotFree) {
  add(node("n").platform("dgx-h100").gpus(6).annotation("berth.dev/unhealthy-gpus", "0,7"));
  EXPECT_EQ(info("n").gpus.unhealthy, 0b10000001U);
  EXPECT_EQ(info("n").gpus.free(), 0b01111110U);
}

TEST_F(State, GpusClaimedTwiceAreHeldOnceAndCounted) {
  add(node("n").platform("dgx-h100").gpus(8));
  for (const char* name : {"a", "b"}) {
    state.set_pod(
        describe(pod(name).gpus(1).on_node("n").annotation("berth.dev/gpu-indices", "3")));
  }
  EXPECT_EQ(state.placed(info("n").gpus.holder[3]).pod->name(), "a");
  EXPECT_EQ(info("n").gpus.unplaced, 1);
  state.remove_pod("default/a");
  state.remove_pod("default/b");
  EXPECT_EQ(info("n").gpus.unplaced, 0);
  EXPECT_EQ(info("n").gpus.held, 0U);
}

TEST_F(State, HoldersSurviveAnUpdateOfTheNode) {
  const NodeId n = add(node("n").platform("dgx-h100").gpus(8));
  state.assume(describe(pod("a").gpus(2)), n, 0b11);
  add(node("n").platform("dgx-h100").gpus(7).annotation("berth.dev/unhealthy-gpus", "5"));
  EXPECT_EQ(info("n").gpus.held, 0b11U);
  EXPECT_EQ(info("n").gpus.free(), 0b11011100U);
}

// ---- nominations
// ----------------------------------------------------------------------------------------

TEST_F(State, NominationsEndWithPlacementOrDeletion) {
  const NodeId n = add(node("n"));
  const NodeId m = add(node("m"));
  const auto a = describe(pod("a"));
  const auto b = describe(pod("b"));
  state.nominate(a, "n");
  state.nominate(b, "n");
  EXPECT_THAT(state.nominated_to(n), ElementsAre(a, b));
  state.nominate(a, "m");
  EXPECT_THAT(state.nominated_to(n), ElementsAre(b));
  EXPECT_EQ(state.nominated_node(a->uid), "m");
  state.assume(a, n);
  EXPECT_THAT(state.nominated_to(m), IsEmpty());
  state.remove_pod(b->uid);
  EXPECT_THAT(state.nominated_to(n), IsEmpty());
  EXPECT_EQ(state.node(n).nominated, 0);
}

// ---- what if
// --------------------------------------------------------------------------------------------

TEST_F(State, AGuardTakesItsChangeBackUnlessCommitted) {
  const NodeId n = add(node("n").platform("dgx-h100").gpus(8));
  const auto a = describe(pod("a").gpus(2).cpu("1"));
  const std::string before = state.dump();
  {
    auto undo = state.try_assume(a, n, 0b11);
    EXPECT_EQ(info("n").gpus.held, 0b11U);
  }
  EXPECT_EQ(state.dump(), before);
  state.try_assume(a, n, 0b11).commit();
  EXPECT_EQ(info("n").gpus.held, 0b11U);
  const std::string placed = state.dump();
  {
    auto undo = state.try_remove("default/a");
    EXPECT_EQ(info("n").gpus.held, 0U);
    auto moved = std::move(undo);
    EXPECT_FALSE(undo.active());
  }
  EXPECT_EQ(state.dump(), placed);
}

/// Random trees of what-if changes end where they began, whatever they were.
TEST_F(State, RollbackRestoresEverything) {
  Rng rng(7);
  std::vector<NodeId> nodes;
  for (int i = 0; i < 6; ++i) {
    auto builder = node("n" + std::to_string(i)).gpus(8);
    nodes.push_back(add(i % 2 == 0 ? builder.platform("dgx-h100") : builder));
  }
  int serial = 0;
  const auto fresh = [&] {
    auto builder = pod("p" + std::to_string(serial++));
    builder.cpu(std::to_string(1 + rng.below(4))).gpus(static_cast<int>(rng.below(3)));
    if (rng.chance(1, 3)) {
      builder.host_port(static_cast<int>(8000 + rng.below(3)));
    }
    if (rng.chance(1, 4)) {
      builder.extended("x.example/y", "1");
    }
    return describe(builder);
  };
  const auto some_gpus = [&](NodeId id, const PodPtr& p) {
    hardware::GpuMask mask = 0;
    hardware::GpuMask free = state.node(id).gpus.free();
    for (std::int64_t i = 0; i < p->gpus && free != 0; ++i, free &= free - 1) {
      mask |= free & -free;
    }
    return mask;
  };
  std::vector<std::string> uids;
  for (int round = 0; round < 200; ++round) {
    // A lasting change, so that histories differ.
    const auto p = fresh();
    const NodeId where = nodes[rng.below(nodes.size())];
    state.assume(p, where, some_gpus(where, p));
    uids.push_back(p->uid);
    if (rng.chance(1, 3)) {
      const auto gone = static_cast<std::ptrdiff_t>(rng.below(uids.size()));
      state.remove_pod(uids[static_cast<std::size_t>(gone)]);
      uids.erase(uids.begin() + gone);
    }
    const std::string before = state.dump();
    {
      std::vector<Undo> guards;
      for (std::uint64_t step = 0; step < 1 + rng.below(12); ++step) {
        if (rng.chance(1, 2) && !uids.empty()) {
          const auto& uid = uids[rng.below(uids.size())];
          if (state.find_pod(uid) != nullptr) {
            guards.push_back(state.try_remove(uid));
          }
        } else {
          const auto q = fresh();
          const NodeId id = nodes[rng.below(nodes.size())];
          guards.push_back(state.try_assume(q, id, some_gpus(id, q)));
        }
        if (rng.chance(1, 4) && !guards.empty()) {
          guards.pop_back();
        }
      }
      while (!guards.empty()) {
        guards.pop_back();
      }
    }
    ASSERT_EQ(state.dump(), before) << "round " << round;
  }
}

/// Totals kept step by step equal totals of a state built anew from what is placed.
TEST_F(State, TotalsEqualARebuild) {
  Rng rng(11);
  for (int i = 0; i < 4; ++i) {
    add(node("n" + std::to_string(i)).gpus(8).platform("dgx-h100"));
  }
  std::map<std::string, test::PodBuilder> alive;
  for (int step = 0; step < 400; ++step) {
    const std::string name = "p" + std::to_string(rng.below(40));
    if (alive.contains(name) && rng.chance(1, 2)) {
      state.remove_pod("default/" + name);
      alive.erase(name);
    } else {
      auto builder =
          pod(name).on_node("n" + std::to_string(rng.below(4))).cpu(std::to_string(rng.below(5)));
      builder.gpus(static_cast<int>(rng.below(4))).host_port(static_cast<int>(8000 + rng.below(5)));
      alive.insert_or_assign(name, builder);
      state.set_pod(describe(builder));
    }
    ClusterState anew;
    for (int i = 0; i < 4; ++i) {
      anew.set_node(node("n" + std::to_string(i)).gpus(8).platform("dgx-h100").build());
    }
    for (const auto& [key, builder] : alive) {
      anew.set_pod(anew.describe(builder.build()));
    }
    for (const NodeId id : state.nodes()) {
      ASSERT_EQ(state.node(id).requested, anew.node(id).requested) << "step " << step;
      ASSERT_EQ(state.node(id).nonzero_cpu, anew.node(id).nonzero_cpu) << "step " << step;
      ASSERT_EQ(state.node(id).used_ports, anew.node(id).used_ports) << "step " << step;
      ASSERT_EQ(state.node(id).gpus.unplaced, anew.node(id).gpus.unplaced) << "step " << step;
      ASSERT_EQ(state.node(id).pods.size(), anew.node(id).pods.size()) << "step " << step;
    }
  }
}

TEST_F(State, ACopyIsIndependent) {
  const NodeId n = add(node("n"));
  ClusterState copy = state;
  copy.assume(copy.describe(pod("a").cpu("1").build()), n);
  EXPECT_EQ(state.pod_count(), 0U);
  EXPECT_EQ(info("n").requested.get(kCpu), 0);
  EXPECT_EQ(copy.node(n).requested.get(kCpu), 1000);
}

TEST(ClusterStateChanges, TellOfPodsThatCameAndWent) {
  ClusterState state;
  const NodeId n = state.set_node(test::node("n").label("zone", "a").build());
  EXPECT_EQ(state.topology("zone").members(state.topology("zone").domain_of(n)).size(), 1U);
  const PodPtr pod = state.describe(test::pod("p").build());
  const std::uint64_t before = state.change_count();
  state.assume(pod, n);
  state.remove_pod(pod->uid);
  const auto changes = *state.changed_since(before);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].pod, pod);
  EXPECT_EQ(changes[0].sign, 1);
  EXPECT_EQ(changes[1].sign, -1);
}

TEST(ClusterStateChanges, LeaveNoTraceOfAWhatIfThatNobodySaw) {
  ClusterState state;
  const NodeId n = state.set_node(test::node("n").build());
  const PodPtr pod = state.describe(test::pod("p").build());
  const std::uint64_t before = state.change_count();
  const std::uint64_t generation = state.node(n).generation;
  { const auto undo = state.try_assume(pod, n); }
  EXPECT_EQ(state.change_count(), before);
  EXPECT_EQ(state.node(n).generation, generation);
  {
    const auto undo = state.try_assume(pod, n);
    EXPECT_EQ(state.change_count(), before + 1);
  }
  EXPECT_EQ(state.change_count(), before + 2) << "somebody saw the pod come";
}

} // namespace
} // namespace berth::sched
