#include "berth/sched/event.h"

#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::NodeBuilder;
using test::pod;
using test::PodBuilder;

struct NodeChange {
  std::string name;
  NodeBuilder before;
  NodeBuilder after;
  EventActions want;
};
void PrintTo(const NodeChange& c, std::ostream* out) {
  *out << c.name;
}

class NodeUpdated : public testing::TestWithParam<NodeChange> {};

TEST_P(NodeUpdated, NamesWhatChanged) {
  EXPECT_EQ(node_updated(GetParam().before.build(), GetParam().after.build()).action,
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Aspects, NodeUpdated,
    testing::Values(
        NodeChange{"Nothing", node("n"), node("n"), 0},
        NodeChange{"Heartbeat", node("n"), node("n").condition("Ready", "True"), 0},
        NodeChange{"Allocatable", node("n"), node("n").gpus(8), actions::kNodeAllocatable},
        NodeChange{"SameAmountWrittenOtherwise", node("n").cpu("1000m"), node("n").cpu("1"), 0},
        NodeChange{"Label", node("n"), node("n").label("a", "b"), actions::kNodeLabel},
        NodeChange{"Annotation", node("n"), node("n").annotation("a", "b"),
                   actions::kNodeAnnotation},
        NodeChange{"Taint", node("n").taint("a", "NoSchedule"), node("n"), actions::kNodeTaint},
        NodeChange{"Uncordon", node("n").unschedulable(), node("n"), actions::kNodeTaint},
        NodeChange{"CordonHelpsNobody", node("n"), node("n").unschedulable(), 0},
        NodeChange{"Condition", node("n").not_ready(), node("n"), actions::kNodeCondition},
        NodeChange{"Two", node("n"), node("n").gpus(8).label("a", "b"),
                   actions::kNodeAllocatable | actions::kNodeLabel}),
    [](const auto& each) { return each.param.name; });

struct PodChange {
  std::string name;
  PodBuilder before;
  PodBuilder after;
  EventActions want;
};
void PrintTo(const PodChange& c, std::ostream* out) {
  *out << c.name;
}

class UnscheduledPodUpdated : public testing::TestWithParam<PodChange> {};

TEST_P(UnscheduledPodUpdated, NamesWhatChanged) {
  ClusterState state;
  const auto event = unscheduled_pod_updated(state.describe(GetParam().before.build()),
                                             state.describe(GetParam().after.build()));
  EXPECT_EQ(event.action, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Aspects, UnscheduledPodUpdated,
    testing::Values(
        PodChange{"Nothing", pod("p"), pod("p"), 0},
        PodChange{"StatusOnly", pod("p"), pod("p").phase("Pending").nominated("n"), 0},
        PodChange{"Label", pod("p"), pod("p").label("a", "b"), actions::kPodLabel},
        PodChange{"Toleration", pod("p"), pod("p").tolerates("a"), actions::kPodToleration},
        PodChange{"GatesGone", pod("p").gate("a"), pod("p"), actions::kPodGatesEliminated},
        PodChange{"OneGateLess", pod("p").gate("a").gate("b"), pod("p").gate("a"),
                  actions::kUpdate},
        PodChange{"AsksForLess", pod("p").cpu("2"), pod("p").cpu("1"), actions::kPodScaleDown},
        PodChange{"AsksForMore", pod("p").cpu("1"), pod("p").cpu("2"), actions::kUpdate},
        PodChange{"Selector", pod("p"), pod("p").node_selector("a", "b"), actions::kUpdate},
        PodChange{"Annotation", pod("p"), pod("p").annotation("a", "b"), actions::kUpdate}),
    [](const auto& each) { return each.param.name; });

TEST(EventInterest, CoversByResourceAndAnyAction) {
  const EventInterest labels{.resource = EventResource::Node,
                             .action = actions::kNodeLabel | actions::kAdd};
  EXPECT_TRUE(labels.covers(node_added(node("n").build())));
  EXPECT_TRUE(
      labels.covers(node_updated(node("n").build(), node("n").label("a", "b").gpus(1).build())));
  EXPECT_FALSE(labels.covers(node_updated(node("n").build(), node("n").gpus(1).build())));
  EXPECT_FALSE(labels.covers(pod_group_changed()));
  EXPECT_TRUE(labels.covers(unschedulable_timeout()));
}

TEST(AssignedPodDeleted, TellsTheRoomItLeft) {
  test::SchedulingWorld world;
  world.with(node("n").cpu("10").gpus(8).pods(10).resource("x.example/y", "3"));
  world.with(pod("a").cpu("4").gpus(2).extended("x.example/y", "1"), "n")
      .with(pod("b").gpus(1), "n");
  const PlacedPod gone = *world.state().find_pod("default/b");
  world.state().remove_pod("default/b");
  const auto event = assigned_pod_deleted(gone.pod, gone.node, world.state());
  ASSERT_TRUE(event.room);
  EXPECT_EQ(event.room->pods, 9);
  EXPECT_EQ(event.room->free.get(kCpu), 6000);
  EXPECT_EQ(event.room->free.get(kGpu), 6);
  EXPECT_EQ(event.room->free.get(*world.state().resource_names().find("x.example/y")), 2);
}

} // namespace
} // namespace berth::sched
