// Pods: what kubectl shows of their containers.
#include <gtest/gtest.h>

#include "berth/server/tables/table_fixture.h"

namespace berth::server {
namespace {

struct Case {
  std::string name;
  std::string pod;
  std::string want; ///< Ready, Status, Restarts
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

std::string three(std::string_view pod) {
  const schema::Resource resource = test::table_resource("Pod");
  const auto cells =
      table_row(table_shape(resource), test::table_object(resource, pod), test::kTableNow).cells;
  return std::string(cells[1].as_string()) + " " + std::string(cells[2].as_string()) + " " +
         std::string(cells[3].as_string());
}

class PodTable : public testing::TestWithParam<Case> {};

TEST_P(PodTable, Shows) {
  EXPECT_EQ(three(GetParam().pod), GetParam().want);
}

const std::string kOne = "spec: {containers: [{name: c}]}\n";
const std::string kInits =
    "spec: {containers: [{name: c}], initContainers: [{name: i}, {name: j}]}\n";
const std::string kSidecar = "spec: {containers: [{name: c}], initContainers: [{name: s, "
                             "restartPolicy: Always}, {name: j}]}\n";

const Case kCases[] = {
    {"Empty", "", "0/0  0"},
    {"Pending", kOne + "status: {phase: Pending}", "0/1 Pending 0"},
    {"Gated",
     kOne + "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
            "SchedulingGated}]}",
     "0/1 SchedulingGated 0"},
    {"Evicted", kOne + "status: {phase: Failed, reason: Evicted}", "0/1 Evicted 0"},
    {"Running",
     kOne + "status: {phase: Running, containerStatuses: [{name: c, ready: true, state: {running: "
            "{}}}]}",
     "1/1 Running 0"},
    {"RunningNotReady",
     kOne + "status: {phase: Running, containerStatuses: [{name: c, ready: false, state: {running: "
            "{}}}]}",
     "0/1 Running 0"},
    {"Creating",
     kOne + "status: {phase: Pending, containerStatuses: [{state: {waiting: {reason: "
            "ContainerCreating}}}]}",
     "0/1 ContainerCreating 0"},
    {"CrashLoopWithTimeOfLastRestart",
     kOne + "status: {phase: Running, containerStatuses: [{restartCount: 4, state: {waiting: "
            "{reason: CrashLoopBackOff}}, lastState: {terminated: {finishedAt: "
            "'2026-01-01T00:58:00Z'}}}]}",
     "0/1 CrashLoopBackOff 4 (2m ago)"},
    {"RestartsWithoutTime",
     kOne + "status: {phase: Running, containerStatuses: [{restartCount: 4, ready: true, state: "
            "{running: {}}}]}",
     "1/1 Running 4"},
    {"LatestOfRestarts",
     "spec: {containers: [{name: a}, {name: b}]}\n"
     "status: {phase: Running, containerStatuses: [{restartCount: 1, lastState: {terminated: "
     "{finishedAt: '2026-01-01T00:59:30Z'}}}, {restartCount: 2, lastState: {terminated: "
     "{finishedAt: '2026-01-01T00:20:00Z'}}}]}",
     "0/2 Running 3 (30s ago)"},
    {"Completed",
     kOne + "status: {phase: Succeeded, containerStatuses: [{state: {terminated: {reason: "
            "Completed, exitCode: 0}}}]}",
     "0/1 Completed 0"},
    {"OOMKilled",
     kOne + "status: {phase: Failed, containerStatuses: [{state: {terminated: {reason: OOMKilled, "
            "exitCode: 137}}}]}",
     "0/1 OOMKilled 0"},
    {"ExitCode",
     kOne + "status: {phase: Failed, containerStatuses: [{state: {terminated: {exitCode: 3}}}]}",
     "0/1 ExitCode:3 0"},
    {"Signal",
     kOne + "status: {phase: Failed, containerStatuses: [{state: {terminated: {exitCode: 137, "
            "signal: 9}}}]}",
     "0/1 Signal:9 0"},
    {"FirstContainerHasTheLastWord",
     "spec: {containers: [{name: a}, {name: b}]}\n"
     "status: {phase: Running, containerStatuses: [{state: {waiting: {reason: ErrImagePull}}}, "
     "{state: {terminated: {reason: Error, exitCode: 1}}}]}",
     "0/2 ErrImagePull 0"},
    {"OneCompletedOthersReady",
     "spec: {containers: [{name: a}, {name: b}]}\n"
     "status: {phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: "
     "[{state: {terminated: {reason: Completed}}}, {ready: true, state: {running: {}}}]}",
     "1/2 Running 0"},
    {"OneCompletedOthersNotReady",
     "spec: {containers: [{name: a}, {name: b}]}\n"
     "status: {phase: Running, conditions: [{type: Ready, status: 'False'}], containerStatuses: "
     "[{state: {terminated: {reason: Completed}}}, {ready: true, state: {running: {}}}]}",
     "1/2 NotReady 0"},
    {"Terminating",
     "metadata: {deletionTimestamp: '2026-01-01T00:59:00Z'}\n" + kOne + "status: {phase: Running}",
     "0/1 Terminating 0"},
    {"DeletedButDone",
     "metadata: {deletionTimestamp: '2026-01-01T00:59:00Z'}\n" + kOne +
         "status: {phase: Succeeded}",
     "0/1 Succeeded 0"},
    {"NodeLost",
     "metadata: {deletionTimestamp: '2026-01-01T00:59:00Z'}\n" + kOne +
         "status: {phase: Running, reason: NodeLost}",
     "0/1 Unknown 0"},
    {"InitWaits",
     kInits + "status: {phase: Pending, initContainerStatuses: [{name: i, state: {running: {}}}, "
              "{name: j, state: {waiting: {reason: PodInitializing}}}]}",
     "0/1 Init:0/2 0"},
    {"SecondInitWaits",
     kInits + "status: {phase: Pending, initContainerStatuses: [{name: i, restartCount: 1, state: "
              "{terminated: {exitCode: 0}}}, {name: j, restartCount: 1, state: {waiting: {reason: "
              "PodInitializing}}}]}",
     "0/1 Init:1/2 2"},
    {"InitCrashes",
     kInits + "status: {phase: Pending, initContainerStatuses: [{name: i, restartCount: 2, state: "
              "{waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {finishedAt: "
              "'2026-01-01T00:59:50Z'}}}]}",
     "0/1 Init:CrashLoopBackOff 2 (10s ago)"},
    {"InitFailsWithoutReason",
     kInits + "status: {phase: Pending, initContainerStatuses: [{state: {terminated: {exitCode: "
              "2}}}]}",
     "0/1 Init:ExitCode:2 0"},
    {"InitKilled",
     kInits + "status: {phase: Pending, initContainerStatuses: [{state: {terminated: {exitCode: "
              "137, signal: 9}}}]}",
     "0/1 Init:Signal:9 0"},
    {"InitError",
     kInits + "status: {phase: Pending, initContainerStatuses: [{state: {terminated: {exitCode: 1, "
              "reason: Error}}}]}",
     "0/1 Init:Error 0"},
    {"InitsDoneTheirRestartsForgotten",
     kInits + "status: {phase: Pending, initContainerStatuses: [{restartCount: 5, state: "
              "{terminated: {exitCode: 0}}}, {state: {terminated: {exitCode: 0}}}], "
              "containerStatuses: [{state: {waiting: {reason: PodInitializing}}}]}",
     "0/1 PodInitializing 0"},
    {"InitializedDespiteStatuses",
     kInits + "status: {phase: Running, conditions: [{type: Initialized, status: 'True'}], "
              "initContainerStatuses: [{state: {running: {}}}], containerStatuses: [{ready: true, "
              "state: {running: {}}}]}",
     "1/1 Init:0/2 0"},
    {"SidecarStarted",
     kSidecar + "status: {phase: Pending, initContainerStatuses: [{name: s, started: true, ready: "
                "true, restartCount: 3, state: {running: {}}}, {name: j, state: {running: {}}}]}",
     "1/2 Init:1/2 3"},
    {"SidecarNotStarted",
     kSidecar + "status: {phase: Pending, initContainerStatuses: [{name: s, started: false, ready: "
                "false, state: {running: {}}}]}",
     "0/2 Init:0/2 0"},
    {"SidecarCountsWhenRunning",
     kSidecar + "status: {phase: Running, initContainerStatuses: [{name: s, started: true, ready: "
                "true, restartCount: 3, state: {running: {}}}, {name: j, restartCount: 7, state: "
                "{terminated: {exitCode: 0}}}], containerStatuses: [{ready: true, restartCount: 1, "
                "state: {running: {}}}]}",
     "2/2 Running 4"},
};

INSTANTIATE_TEST_SUITE_P(All, PodTable, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(PodTableWide, ShowsWhereAndUnderWhichAddress) {
  EXPECT_EQ(test::cells_text("Pod", ""),
            R"(["x","0/0","","0","5m","<none>","<none>","<none>","<none>"])");
  EXPECT_EQ(test::cells_text("Pod", R"(
spec: {nodeName: n1, readinessGates: [{conditionType: a}, {conditionType: b}, {conditionType: c}]}
status: {podIPs: [{ip: 10.0.0.2}], nominatedNodeName: m,
         conditions: [{type: a, status: 'True'}, {type: b, status: 'False'}]})"),
            R"(["x","0/0","","0","5m","10.0.0.2","n1","m","1/3"])");
  EXPECT_EQ(test::cells_text("Pod", "status: {podIP: 10.0.0.9, podIPs: [{ip: 10.0.0.2}]}"),
            R"(["x","0/0","","0","5m","10.0.0.9","<none>","<none>","<none>"])");
}

TEST(PodTableConditions, SayThatThePodIsDone) {
  const schema::Resource pods = test::table_resource("Pod");
  const auto conditions = [&](std::string_view phase) {
    const auto pod = test::table_object(pods, "status: {phase: " + std::string(phase) + "}");
    return api::to_json(table_row(table_shape(pods), pod, test::kTableNow).conditions);
  };
  EXPECT_EQ(conditions("Running"), "[]");
  EXPECT_EQ(
      conditions("Succeeded"),
      R"([{"type":"Completed","status":"True","reason":"Succeeded","message":"The pod has completed successfully."}])");
  EXPECT_EQ(
      conditions("Failed"),
      R"([{"type":"Completed","status":"True","reason":"Failed","message":"The pod failed."}])");
}

} // namespace
} // namespace berth::server
