#include "berth/sched/plugins/gpu_topology.h"

#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/object.h"
#include "berth/hardware/platform.h"
#include "berth/sched/cycle.h"
#include "berth/sched/open_gpus.h"
#include "berth/testing/builders.h"

namespace berth::sched {
namespace {

using hardware::ChoicePolicy;
using hardware::GpuMask;
using ::testing::ElementsAre;

std::shared_ptr<const model::Node> machine(std::string_view platform, std::string_view name,
                                           std::string_view unhealthy = "") {
  auto document = hardware::node_document(*hardware::Catalogue::builtin().find(platform), name);
  auto object = api::Object::from_json(std::move(document)).value();
  if (!unhealthy.empty()) {
    object = object.edit([&](boost::json::object& o) {
      auto& meta = o["metadata"].as_object();
      meta["annotations"] = {
          {std::string(model::kUnhealthyGpusAnnotation), std::string(unhealthy)}};
      const auto bad = std::popcount(*hardware::parse_gpu_indices(unhealthy));
      auto& gpus = o["status"].as_object()["allocatable"].as_object()["nvidia.com/gpu"];
      gpus = std::to_string(std::stoi(std::string(gpus.as_string())) - bad);
    });
  }
  return model::node_view(object).value();
}

/// A cluster, and pods that hold GPUs in it.
struct Cluster {
  ClusterState state;
  int pods = 0;

  NodeId add(std::string_view platform, std::string_view name, std::string_view unhealthy = "") {
    return state.set_node(machine(platform, name, unhealthy));
  }
  PodPtr pod(int gpus) {
    return state.describe(test::pod("p").uid(fmt::format("pod-{}", ++pods)).gpus(gpus).build());
  }
  /// A bound pod that holds these indices.
  void hold(std::string_view node, std::string_view indices) {
    const auto gpus = std::popcount(*hardware::parse_gpu_indices(indices));
    state.set_pod(state.describe(test::pod("p")
                                     .uid(fmt::format("pod-{}", ++pods))
                                     .gpus(gpus)
                                     .on_node(node)
                                     .annotation(model::kGpuIndicesAnnotation, indices)
                                     .build()));
  }
  /// A bound pod of another scheduler.
  void foreign(std::string_view node, int gpus) {
    state.set_pod(state.describe(
        test::pod("p").uid(fmt::format("pod-{}", ++pods)).gpus(gpus).on_node(node).build()));
  }
};

Prepared prepared(Cluster& cluster, int gpus, ChoicePolicy policy = ChoicePolicy::Topology) {
  return make_gpu_topology({.policy = policy})->prepare(cluster.pod(gpus), cluster.state);
}

// ---- filter
// -----------------------------------------------------------------------------------------------------------

struct FilterCase {
  std::string name;
  std::string platform;
  std::string unhealthy;
  std::vector<std::string> held;
  std::vector<int> foreign;
  int asked;
  StatusCode want;
};

void PrintTo(const FilterCase& c, std::ostream* out) {
  *out << c.name;
}

class GpuFilter : public ::testing::TestWithParam<FilterCase> {};

TEST_P(GpuFilter, CountsHealthyFreeIndices) {
  const auto& c = GetParam();
  Cluster cluster;
  const auto node = cluster.add(c.platform, "n", c.unhealthy);
  for (const auto& indices : c.held) {
    cluster.hold("n", indices);
  }
  for (const int gpus : c.foreign) {
    cluster.foreign("n", gpus);
  }
  const auto run = prepared(cluster, c.asked).run;
  ASSERT_NE(run, nullptr);
  const auto verdict = run->filter(node);
  EXPECT_EQ(verdict.code, c.want);
  if (c.want == StatusCode::Unschedulable) {
    EXPECT_THAT(run->reasons(node, verdict),
                ElementsAre("node(s) didn't have enough free healthy GPUs"));
  } else if (c.want == StatusCode::Unresolvable) {
    EXPECT_THAT(run->reasons(node, verdict),
                ElementsAre("node(s) had fewer healthy GPUs than requested"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GpuFilter,
    ::testing::Values(
        FilterCase{"Idle", "dgx-h100", "", {}, {}, 8, StatusCode::Success},
        FilterCase{"MoreThanTheMachineHas", "dgx-h100", "", {}, {}, 9, StatusCode::Unresolvable},
        FilterCase{"MoreThanIsHealthy", "dgx-h100", "5", {}, {}, 8, StatusCode::Unresolvable},
        FilterCase{"AllThatIsHealthy", "dgx-h100", "5", {}, {}, 7, StatusCode::Success},
        FilterCase{"Taken", "dgx-h100", "", {"0,1", "4"}, {}, 6, StatusCode::Unschedulable},
        FilterCase{"JustEnough", "dgx-h100", "", {"0,1", "4"}, {}, 5, StatusCode::Success},
        FilterCase{
            "AHeldUnhealthyGpuCountsOnce", "dgx-h100", "4", {"4"}, {}, 7, StatusCode::Success},
        FilterCase{"ForeignPodsTakeSome", "dgx-h100", "", {"0"}, {2}, 6, StatusCode::Unschedulable},
        FilterCase{"ForeignPodsLeaveTheRest", "dgx-h100", "", {"0"}, {2}, 5, StatusCode::Success},
        FilterCase{"ForeignPodsCannotTakeMoreThanThereIs",
                   "t4-pcie-1",
                   "",
                   {},
                   {1, 1},
                   1,
                   StatusCode::Unschedulable}),
    [](const auto& tested) { return tested.param.name; });

TEST(GpuFilterUnknown, LeavesNodesWithoutIndicesToCounting) {
  Cluster cluster;
  const auto node = cluster.state.set_node(test::node("n").gpus(2).build());
  EXPECT_TRUE(prepared(cluster, 64).run->filter(node).ok());
}

TEST(GpuFilterUnknown, CountsMoreGpusThanCanBeToldApart) {
  Cluster cluster;
  const auto node = cluster.state.set_node(test::node("n").gpus(64).build());
  EXPECT_TRUE(prepared(cluster, 64).run->filter(node).ok());
  EXPECT_TRUE(cluster.state.node(node).parts.all == 0) << "no parts of what has no index";
}

TEST(GpuFilterUnknown, LeavesVgpusToTheirScheduler) {
  Cluster cluster;
  const auto node = cluster.state.set_node(
      test::node("n").gpus(80).annotation("hami.io/node-nvidia-register", "[]").build());
  const auto run = prepared(cluster, 1).run;
  const Verdict verdict = run->filter(node);
  EXPECT_EQ(verdict.code, StatusCode::Unresolvable);
  EXPECT_THAT(run->reasons(node, verdict), testing::ElementsAre(std::string(kReasonVgpus)));
}

TEST(GpuFilterNone, HasNothingToSayOfPodsWithoutGpus) {
  Cluster cluster;
  const auto result = prepared(cluster, 0);
  EXPECT_EQ(result.status.code, StatusCode::Skip);
  EXPECT_EQ(result.run, nullptr);
}

TEST(GpuFilterWhatIf, SeesTentativePods) {
  Cluster cluster;
  const auto node = cluster.add("dgx-h100", "n");
  const auto run = prepared(cluster, 8).run;
  {
    const auto undo = cluster.state.try_assume(cluster.pod(1), node);
    EXPECT_EQ(run->filter(node).code, StatusCode::Unschedulable);
  }
  EXPECT_TRUE(run->filter(node).ok());
}

// ---- open GPUs
// ----------------------------------------------------------------------------------------------------------

TEST(OpenGpus, LeavesOutWhatForeignPodsPresumablyHold) {
  Cluster cluster;
  const auto id = cluster.add("l40s-pcie-8", "n", "2");
  cluster.hold("n", "4");
  const auto open = [&] {
    return hardware::format_gpu_indices(open_gpus(cluster.state, cluster.state.node(id)));
  };
  EXPECT_EQ(open(), "0,1,3,5,6,7");
  cluster.foreign("n", 1); // the single GPU beside the broken one costs least: 3
  EXPECT_EQ(open(), "0,1,5,6,7");
  cluster.foreign("n", 2);
  EXPECT_EQ(open(), "5,6,7");
  EXPECT_EQ(open_gpu_count(cluster.state.node(id).gpus), 3);
}

TEST(OpenGpus, DoesNotCountThePodThatAsks) {
  Cluster cluster;
  const auto id = cluster.add("dgx-h100", "n");
  const auto pod = cluster.pod(3);
  cluster.state.assume(pod, id);
  EXPECT_EQ(std::popcount(open_gpus(cluster.state, cluster.state.node(id))), 5);
  EXPECT_EQ(open_gpus(cluster.state, cluster.state.node(id), *cluster.state.slot_of(pod->uid)),
            0xffU);
}

TEST(OpenGpus, AreNoneWhenForeignPodsHoldMoreThanThereIs) {
  Cluster cluster;
  const auto id = cluster.add("a10g-pcie-4", "n");
  cluster.foreign("n", 3);
  cluster.foreign("n", 3);
  EXPECT_EQ(open_gpus(cluster.state, cluster.state.node(id)), 0U);
  EXPECT_EQ(open_gpu_count(cluster.state.node(id).gpus), 0);
}

// ---- score
// --------------------------------------------------------------------------------------------------------------

std::vector<std::int64_t> scores(Cluster& cluster, int gpus, ChoicePolicy policy) {
  const auto run = prepared(cluster, gpus, policy).run;
  const auto nodes = cluster.state.nodes();
  EXPECT_TRUE(run->pre_score(nodes).ok());
  std::vector<std::int64_t> result;
  for (const auto node : nodes) {
    result.push_back(run->score(node));
  }
  return result;
}

TEST(GpuScore, ASingleGpuGoesWhereItBreaksLeast) {
  Cluster cluster;
  cluster.add("dgx-h100", "idle");
  cluster.add("dgx-h100", "seven");
  cluster.hold("seven", "0");
  cluster.add("dgx-h100", "one");
  cluster.hold("one", "0,1,2,3,4,5,6");
  // Room lost: 8 + 4 + 2 thousand, 0, 0. Left: 7, 6, 0.
  EXPECT_THAT(scores(cluster, 1, ChoicePolicy::Topology), ElementsAre(0, 82, 100));
  EXPECT_THAT(scores(cluster, 1, ChoicePolicy::Binpack), ElementsAre(0, 82, 100));
  EXPECT_THAT(scores(cluster, 1, ChoicePolicy::Spread), ElementsAre(87, 75, 0));
}

TEST(GpuScore, CollectivesGoWhereTheyAreFast) {
  Cluster cluster;
  cluster.add("l40s-pcie-8", "across");
  cluster.hold("across", "0,1,2,4,5,6"); // 3 and 7 are left: 16 GB/s
  cluster.add("l40s-pcie-8", "pair");
  cluster.hold("pair", "0,1,2,3,4,5"); // 6 and 7: 24 GB/s
  cluster.add("hgx-a100-4", "mesh");   // 77.6 GB/s
  const auto by_topology = scores(cluster, 2, ChoicePolicy::Topology);
  EXPECT_LT(by_topology[0], by_topology[1]);
  EXPECT_LT(by_topology[1], by_topology[2]);
  const auto by_thrift = scores(cluster, 2, ChoicePolicy::Binpack);
  EXPECT_GT(by_thrift[0], by_thrift[2]) << "packing fills the nodes in use first";
}

TEST(GpuScore, AnUnknownMachineScoresByCounts) {
  Cluster cluster;
  cluster.state.set_node(test::node("empty").gpus(8).build());
  cluster.state.set_node(test::node("used").gpus(8).build());
  cluster.foreign("used", 7);
  EXPECT_THAT(scores(cluster, 1, ChoicePolicy::Topology), ElementsAre(0, 100));
  EXPECT_THAT(scores(cluster, 1, ChoicePolicy::Spread), ElementsAre(87, 0));
}

TEST(GpuScore, StaysBetween0And100) {
  Rng rng(9);
  const auto names = hardware::Catalogue::builtin().names();
  for (int round = 0; round < 100; ++round) {
    Cluster cluster;
    for (int i = 0; i < 4; ++i) {
      const auto& platform = names[rng.below(names.size())];
      const auto name = fmt::format("n{}", i);
      cluster.add(platform, name);
      const auto all =
          (std::uint64_t{1} << hardware::Catalogue::builtin().find(platform)->gpus.size()) - 1;
      if (const auto held = static_cast<GpuMask>(rng.next() & all); held != 0) {
        cluster.hold(name, hardware::format_gpu_indices(held));
      }
    }
    for (const auto policy :
         {ChoicePolicy::Topology, ChoicePolicy::Binpack, ChoicePolicy::Spread}) {
      EXPECT_THAT(scores(cluster, static_cast<int>(rng.between(1, 8)), policy),
                  ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Le(100))));
    }
  }
}

// ---- reserve
// ------------------------------------------------------------------------------------------------------------

Reservation reserved(Cluster& cluster, NodeId node, const PodPtr& pod,
                     ChoicePolicy policy = ChoicePolicy::Topology) {
  const auto run = make_gpu_topology({.policy = policy})->prepare(pod, cluster.state).run;
  const auto undo = cluster.state.try_assume(pod, node);
  Reservation reservation{.node = node, .slot = undo.slot(), .gpus = 0, .annotations = {}};
  EXPECT_TRUE(run->reserve(*pod, cluster.state, reservation).ok());
  return reservation;
}

TEST(GpuReserve, ChoosesTheSet) {
  Cluster cluster;
  const auto node = cluster.add("dgx-h100", "n", "6");
  cluster.hold("n", "0");
  const auto reservation = reserved(cluster, node, cluster.pod(3));
  EXPECT_EQ(hardware::format_gpu_indices(reservation.gpus), "1,2,3");
}

TEST(GpuReserve, TakesAPodsContainersTogether) {
  Cluster cluster;
  const auto node = cluster.add("l40s-pcie-8", "n");
  cluster.hold("n", "0");
  const auto pod = cluster.state.describe(test::pod("p")
                                              .uid("two")
                                              .gpus(2)
                                              .container("side")
                                              .gpus(2)
                                              .init_container("first")
                                              .gpus(1)
                                              .build());
  EXPECT_EQ(hardware::format_gpu_indices(reserved(cluster, node, pod).gpus), "4,5,6,7");
}

TEST(GpuReserve, FollowsThePolicy) {
  Cluster cluster;
  const auto node = cluster.add("dgx-a100", "n");
  EXPECT_EQ(hardware::format_gpu_indices(
                reserved(cluster, node, cluster.pod(2), ChoicePolicy::Topology).gpus),
            "0,1");
  EXPECT_EQ(hardware::format_gpu_indices(
                reserved(cluster, node, cluster.pod(2), ChoicePolicy::Spread).gpus),
            "0,4");
}

TEST(GpuReserve, ChoosesNothingWhereIndicesAreUnknown) {
  Cluster cluster;
  const auto node = cluster.state.set_node(test::node("n").gpus(8).build());
  const auto reservation = reserved(cluster, node, cluster.pod(2));
  EXPECT_EQ(reservation.gpus, 0U);
  EXPECT_TRUE(reservation.annotations.empty());
}

TEST(GpuReserve, RefusesWhenTheGpusWentMeanwhile) {
  Cluster cluster;
  const auto node = cluster.add("t4-pcie-1", "n");
  const auto pod = cluster.pod(1);
  const auto run = make_gpu_topology({})->prepare(pod, cluster.state).run;
  cluster.hold("n", "0");
  const auto undo = cluster.state.try_assume(pod, node);
  Reservation reservation{.node = node, .slot = undo.slot(), .gpus = 0, .annotations = {}};
  const auto status = run->reserve(*pod, cluster.state, reservation);
  EXPECT_EQ(status.code, StatusCode::Unschedulable);
  EXPECT_EQ(status.message(), "node(s) didn't have enough free healthy GPUs");
}

// ---- events and arguments
// -----------------------------------------------------------------------------------------------

TEST(GpuHints, WakeOnlyForWhatCanHelp) {
  Cluster cluster;
  const auto plugin = make_gpu_topology({});
  const auto waiting = cluster.pod(4);
  const auto gone = [&](int gpus) { return assigned_pod_deleted(cluster.pod(gpus)); };
  EXPECT_EQ(plugin->hint(*waiting, gone(1)), Hint::Queue);
  EXPECT_EQ(plugin->hint(*waiting, gone(0)), Hint::Skip);
  auto part = test::pod("part");
  part.annotation(model::kGpuMilli, "500");
  EXPECT_EQ(plugin->hint(*waiting, assigned_pod_deleted(cluster.state.describe(part.build()))),
            Hint::Queue)
      << "the last part of a GPU";
  EXPECT_EQ(plugin->hint(*waiting, node_added(machine("dgx-h100", "n"))), Hint::Queue);
  EXPECT_EQ(plugin->hint(*waiting, node_added(machine("t4-pcie-1", "n"))), Hint::Skip);
  EXPECT_EQ(plugin->hint(*waiting, node_added(test::node("cpu").build())), Hint::Skip);
  const auto healed = node_updated(machine("dgx-h100", "n", "1"), machine("dgx-h100", "n"));
  EXPECT_EQ(plugin->hint(*waiting, healed), Hint::Queue);
  const auto covered = [&](const ClusterEvent& event) {
    return std::ranges::any_of(
        plugin->events(), [&](const EventInterest& interest) { return interest.covers(event); });
  };
  EXPECT_TRUE(covered(healed));
  EXPECT_TRUE(covered(gone(1)));
  EXPECT_TRUE(covered(node_added(machine("dgx-h100", "n"))));
}

TEST(GpuArgs, NameThePolicy) {
  EXPECT_EQ(parse_gpu_topology_args(nullptr)->policy, ChoicePolicy::Topology);
  EXPECT_EQ(parse_gpu_topology_args(boost::json::object{})->policy, ChoicePolicy::Topology);
  EXPECT_EQ(parse_gpu_topology_args({{"policy", "binpack"}})->policy, ChoicePolicy::Binpack);
  EXPECT_EQ(parse_gpu_topology_args({{"policy", "spread"}})->policy, ChoicePolicy::Spread);
  EXPECT_EQ(to_string(parse_gpu_topology_args({{"policy", "best"}}).error()),
            "policy: Unsupported value: \"best\": supported values: \"topology\", \"binpack\", "
            "\"spread\"");
  EXPECT_FALSE(parse_gpu_topology_args({{"policy", 1}}));
}

} // namespace
} // namespace berth::sched
