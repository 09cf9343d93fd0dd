#include "berth/cli/run/stuck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using cluster::PodState;
using report::Alone;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseFailedScheduling, SplitsTheReasons) {
  EXPECT_THAT(parse_failed_scheduling(
                  "0/6 nodes are available: 2 Insufficient nvidia.com/gpu, 4 node(s) didn't match "
                  "Pod's node affinity/selector. preemption: 0/6 nodes are available: 6 Preemption "
                  "is not helpful for scheduling."),
              ElementsAre(Reason{2, "Insufficient nvidia.com/gpu"},
                          Reason{4, "node(s) didn't match Pod's node affinity/selector"}));
}

TEST(ParseFailedScheduling, ACommaInsideAReasonStaysThere) {
  EXPECT_THAT(parse_failed_scheduling(
                  "0/3 nodes are available: 1 node(s) had untolerated taint {a: x, y}, 2 Too many "
                  "pods."),
              ElementsAre(Reason{1, "node(s) had untolerated taint {a: x, y}"},
                          Reason{2, "Too many pods"}));
}

TEST(ParseFailedScheduling, OtherTextHasNoReasons) {
  EXPECT_THAT(parse_failed_scheduling(""), ElementsAre());
  EXPECT_THAT(parse_failed_scheduling("waiting for the gang"), ElementsAre());
  EXPECT_THAT(parse_failed_scheduling("0/3 nodes are available: ."), ElementsAre());
  EXPECT_THAT(parse_failed_scheduling("nodes are available: 99999999999999999999 x, , ,"),
              ElementsAre());
}

api::Quantity quantity(std::string_view text) {
  return *api::Quantity::parse(text);
}

NodeRoom dgx(std::string name, std::int64_t free) {
  return {.name = std::move(name),
          .allocatable = {{"nvidia.com/gpu", quantity("8")}, {"cpu", quantity("224")}},
          .gpus_free = free};
}

struct Example {
  model::Pod pod;
  cluster::PodWalk walk;
};

Example unschedulable(std::string message, std::string_view gpus) {
  Example e;
  e.walk.key = {"ml", "p"};
  e.walk.state = PodState::Unschedulable;
  e.pod.meta.name = "p";
  e.pod.meta.ns = "ml";
  e.pod.status.phase = "Pending";
  e.pod.status.conditions = {{.type = "PodScheduled",
                              .status = "False",
                              .reason = "Unschedulable",
                              .message = std::move(message),
                              .last_transition_time = {},
                              .last_heartbeat_time = {}}};
  model::Container container;
  container.name = "c";
  if (!gpus.empty()) {
    container.resources.limits = {{"nvidia.com/gpu", quantity(gpus)}};
    container.resources.requests = container.resources.limits;
  }
  e.pod.spec.containers = {container};
  return e;
}

constexpr const char* kNoGpu = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.";

TEST(ExplainStuck, MoreGpusThanAnyNodeHas) {
  const Example e = unschedulable(kNoGpu, "16");
  const auto stuck = explain_stuck(e.pod, e.walk, {Alone::Never}, {dgx("a", 8), dgx("b", 8)});
  EXPECT_EQ(stuck.code, "GPU_EXCEEDS_NODE");
  EXPECT_EQ(stuck.summary, "can never fit: asks for 16 GPUs on one node, the largest node has 8");
  EXPECT_EQ(stuck.message, kNoGpu);
  EXPECT_EQ(stuck.asks, "16 nvidia.com/gpu");
  EXPECT_EQ(stuck.phase, "Pending");
}

TEST(ExplainStuck, FreeButOnDifferentNodes) {
  const Example e = unschedulable(kNoGpu, "8");
  const auto stuck = explain_stuck(e.pod, e.walk, {Alone::Runs}, {dgx("a", 6), dgx("b", 7)});
  EXPECT_EQ(stuck.code, "GPU_FRAGMENTED");
  EXPECT_EQ(stuck.summary, "13 GPUs are free, but no node has 8 of them: b comes closest with 7");
}

TEST(ExplainStuck, TooFewFree) {
  const Example e = unschedulable(kNoGpu, "8");
  const auto stuck = explain_stuck(e.pod, e.walk, {Alone::Runs}, {dgx("a", 1), dgx("b", 0)});
  EXPECT_EQ(stuck.code, "GPU_BUSY");
  EXPECT_EQ(stuck.summary, "waits for others: 8 GPUs wanted, 1 free in the cluster");
}

TEST(ExplainStuck, FreeOnNodesItMayNotUse) {
  const Example e = unschedulable(kNoGpu, "4");
  const auto stuck = explain_stuck(e.pod, e.walk, {Alone::Runs}, {dgx("a", 8), dgx("b", 0)});
  EXPECT_EQ(stuck.code, "GPU_BUSY");
  EXPECT_EQ(stuck.summary, "waits for others: of the nodes it may use, none has 4 GPUs free");
}

TEST(ExplainStuck, WhatIsMissingInAnEmptyClusterIsTheReasonForNever) {
  // GPUs are short only now; what never comes is the label.
  const Example e = unschedulable(kNoGpu, "4");
  const auto stuck =
      explain_stuck(e.pod, e.walk,
                    {Alone::Never, "0/2 nodes are available: 2 node(s) didn't match Pod's node "
                                   "affinity/selector. preemption: 0/2 nodes are available."},
                    {dgx("a", 0), dgx("b", 0)});
  EXPECT_EQ(stuck.code, "NODE_AFFINITY_MISMATCH");
  EXPECT_EQ(stuck.summary, "can never fit: no node will do (2 without the labels that its "
                           "nodeSelector or node affinity asks for)");
  EXPECT_EQ(stuck.message, kNoGpu) << "what this cluster's scheduler said stays";
}

TEST(ExplainStuck, EveryRuleIsCountedWhenSeveralTakeNodesAway) {
  const Example e =
      unschedulable("0/6 nodes are available: 1 Too many pods, 2 node(s) didn't match Pod's node "
                    "affinity/selector, 3 node(s) had untolerated taint {a: b}.",
                    "1");
  const auto stuck = explain_stuck(e.pod, e.walk, {Alone::Runs}, {dgx("a", 0)});
  EXPECT_EQ(stuck.code, "TAINT_NOT_TOLERATED");
  EXPECT_EQ(stuck.summary, "no node will do (1 with as many pods as they take, 2 without the "
                           "labels that its nodeSelector or node affinity asks for, 3 with a taint "
                           "that it does not tolerate)");
}

TEST(ExplainStuck, ANodeThatIsDownIsNoNodeTooSmall) {
  const Example e = unschedulable(kNoGpu, "8");
  EXPECT_EQ(explain_stuck(
                e.pod, e.walk, {Alone::Runs},
                {{.name = "a", .allocatable = {{"nvidia.com/gpu", quantity("4")}}, .gpus_free = 4}})
                .code,
            "GPU_BUSY")
      << "an empty cluster would run it";
}

TEST(ExplainStuck, NoNodeHasGpus) {
  const Example e = unschedulable(kNoGpu, "1");
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Never},
                          {{.name = "cpu", .allocatable = {}, .gpus_free = 0}})
                .code,
            "RESOURCE_NOT_ADVERTISED");
}

TEST(ExplainStuck, OtherResources) {
  Example e = unschedulable("0/1 nodes are available: 1 Insufficient cpu.", "");
  e.pod.spec.containers[0].resources.requests = {{"cpu", quantity("400")}};
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Never}, {dgx("a", 8)}).code,
            "RESOURCE_EXCEEDS_NODE");
  e.pod.spec.containers[0].resources.requests = {{"cpu", quantity("100")}};
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Runs}, {dgx("a", 8)}).code, "RESOURCE_BUSY");
  e = unschedulable("0/1 nodes are available: 1 Insufficient example.com/fpga.", "");
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Never}, {dgx("a", 8)}).code,
            "RESOURCE_NOT_ADVERTISED");
}

struct Rule {
  const char* code;
  const char* message;
};

class RulesAboutNodes : public ::testing::TestWithParam<Rule> {};

TEST_P(RulesAboutNodes, HaveTheirCodes) {
  const Example e = unschedulable(GetParam().message, "1");
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Never}, {dgx("a", 8)}).code, GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RulesAboutNodes,
    ::testing::Values(
        Rule{"TAINT_NOT_TOLERATED", "0/1 nodes are available: 1 node(s) had untolerated taint(s)."},
        Rule{"NODE_AFFINITY_MISMATCH",
             "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
        Rule{"NODE_CORDONED", "0/1 nodes are available: 1 node(s) were unschedulable."},
        Rule{"PORT_TAKEN", "0/1 nodes are available: 1 node(s) didn't have free ports for the "
                           "requested pod ports."},
        Rule{"ONE_REPLICA_A_CONTAINER", "0/1 nodes are available: 1 node(s) gave at most one "
                                        "replica of nvidia.com/gpu to a container."},
        Rule{"NODE_FULL", "0/1 nodes are available: 1 Too many pods."},
        Rule{"UNSCHEDULABLE", "0/1 nodes are available: 1 something new."}),
    [](const auto& c) { return c.param.code; });

TEST(ExplainStuck, StatesBeforeAndAfterScheduling) {
  Example e = unschedulable("", "");
  e.walk.state = PodState::Gated;
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Unknown}, {}).code, "SCHEDULING_GATED");

  e.walk.state = PodState::Pending;
  e.pod.status.conditions.clear();
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Unknown}, {}).code, "NOT_TRIED");
  e.pod.spec.scheduler_name = "volcano";
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Unknown}, {}, SchedulerOfPod::Elsewhere).code,
            "OTHER_SCHEDULER");

  e.walk.state = PodState::Bound;
  e.pod.spec.node_name = "gone";
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Unknown}, {dgx("a", 8)}).code, "NODE_UNKNOWN");
  e.pod.spec.node_name = "a";
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Unknown}, {dgx("a", 8)}).code, "STARTING");
}

TEST(ExplainStuck, FailedPodsKeepTheirReason) {
  Example e = unschedulable("", "8");
  e.walk.state = PodState::Failed;
  e.pod.status.phase = "Failed";
  e.pod.status.reason = "UnexpectedAdmissionError";
  e.pod.status.message = "Allocate failed due to no healthy devices present";
  const auto stuck = explain_stuck(e.pod, e.walk, {Alone::Unknown}, {dgx("a", 8)});
  EXPECT_EQ(stuck.code, "KUBELET_REJECTED");
  EXPECT_EQ(stuck.message,
            "UnexpectedAdmissionError: Allocate failed due to no healthy devices present");
  e.pod.status.reason = "Evicted";
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Unknown}, {}).code, "EVICTED");
  e.pod.status.reason = "";
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {Alone::Unknown}, {}).code, "CONTAINER_FAILED");
}

TEST(ExplainStuck, AGangIsShortOfPodsOrOfRoom) {
  const auto member = [](std::string message) {
    Example e = unschedulable(std::move(message), "8");
    e.pod.meta.labels[std::string(model::kPodGroupLabel)] = "g";
    return e;
  };
  const auto explain = [&](const std::string& message, AloneAnswer alone) {
    const Example e = member(message);
    const auto stuck = explain_stuck(e.pod, e.walk, alone, {dgx("a", 8)});
    return stuck.code + ": " + stuck.summary;
  };
  EXPECT_EQ(explain("0/1 nodes are available: pre-filter pod g-0 cannot find enough sibling pods, "
                    "current pods number: 2, minMember of group: 3.",
                    {Alone::Never}),
            "GANG_INCOMPLETE: its gang g has 2 of the 3 pods that it needs");
  EXPECT_EQ(explain("0/1 nodes are available: PodGroup not found.", {Alone::Never}),
            "GANG_INCOMPLETE: the PodGroup g that it names is not there");
  EXPECT_EQ(explain(kNoGpu, {Alone::Never}),
            "GANG_WAITING: can never fit: the pods of its gang g do not fit together, even in an "
            "empty cluster")
      << "one of them would";
  EXPECT_EQ(explain(kNoGpu, {Alone::Runs}),
            "GANG_WAITING: waits for others: its gang g does not fit as a whole now");
  Example wide = member(kNoGpu);
  wide.pod.spec.containers[0].resources.requests["nvidia.com/gpu"] = quantity("16");
  wide.pod.spec.containers[0].resources.limits["nvidia.com/gpu"] = quantity("16");
  EXPECT_EQ(explain_stuck(wide.pod, wide.walk, {Alone::Never}, {dgx("a", 8)}).code,
            "GPU_EXCEEDS_NODE");
}

TEST(ExplainStuck, ADisruptedPodSaysByWhat) {
  Example e = unschedulable("", "");
  e.walk.state = PodState::Failed;
  e.pod.status.phase = "Failed";
  e.pod.spec.node_name = "nowhere";
  e.pod.status.conditions = {{.type = "DisruptionTarget",
                              .status = "True",
                              .reason = "DeletionByPodGC",
                              .message = "PodGC: node no longer exists"}};
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {}, {}).summary,
            "given up, for its node nowhere is not there");
  e.pod.status.conditions[0].reason = "PreemptionByScheduler";
  e.pod.status.conditions[0].message = "default-scheduler: preempting";
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {}, {}).summary, "evicted: default-scheduler: preempting");
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {}, {}).code, "EVICTED");
}

TEST(ExplainStuck, AFailedContainerIsNamed) {
  Example e = unschedulable("", "");
  e.walk.state = PodState::Failed;
  e.pod.status.phase = "Failed";
  e.walk.last =
      *api::Object::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"status":{
        "initContainerStatuses":[{"name":"prepare","state":{"terminated":{"exitCode":0}}}],
        "containerStatuses":[{"name":"proxy","state":{"running":{}}},
                             {"name":"trainer","state":{"terminated":{"exitCode":137}}}]}})");
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {}, {}).summary,
            "container trainer ended with exit code 137");
}

TEST(ExplainStuck, WhatIsBeingDeletedAndDoesNotGo) {
  Example e = unschedulable("", "8");
  e.walk.state = PodState::Running;
  e.pod.spec.node_name = "a";
  e.pod.meta.deletion_timestamp = TimePoint::from_unix_seconds(1);
  NodeRoom node = dgx("a", 0);
  node.ready = false;
  auto stuck = explain_stuck(e.pod, e.walk, {}, {node});
  EXPECT_EQ(stuck.code, "TERMINATING");
  EXPECT_EQ(stuck.phase, "Running");
  EXPECT_EQ(stuck.summary,
            "being deleted, but its node a does not say that its containers have ended");
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {}, {}).summary, stuck.summary)
      << "nor does one that is gone";
  node.ready = true;
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {}, {node}).summary,
            "being deleted, its containers are still ending");
  e.pod.meta.finalizers = {"example.com/keep"};
  EXPECT_EQ(explain_stuck(e.pod, e.walk, {}, {node}).summary,
            "being deleted, held by the finalizer example.com/keep");
}

TEST(ExplainStuck, AGangThatWaitsSaysSo) {
  Example e = unschedulable("waiting for the other members", "8");
  e.pod.meta.labels[std::string(model::kPodGroupLabel)] = "g";
  const auto stuck = explain_stuck(e.pod, e.walk, {Alone::Runs}, {dgx("a", 8)});
  EXPECT_EQ(stuck.code, "GANG_WAITING");
  EXPECT_THAT(stuck.summary, HasSubstr("its gang g"));
}

} // namespace
} // namespace berth::cli
