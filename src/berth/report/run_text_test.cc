#include "berth/report/run_text.h"

#include <gtest/gtest.h>

#include "berth/report/run_report_example.h"

namespace berth::report {
namespace {

TEST(RunText, ShowsEverythingInOneScreen) {
  EXPECT_EQ(render_run(example(), {}), R"(
PODS
NAMESPACE  NAME       PHASE      NODE        GPUS  ALL-REDUCE  WAITING  STARTING  RUNNING
ml         trainer-0  Succeeded  dgx-h100-1  0-1     380 GB/s     20ms      1.5s       1m
ml         big        Pending    -           (16)           -    1m40s         -        -

JOBS
NAMESPACE  NAME     STATUS    COMPLETIONS  DURATION
ml         trainer  Complete          1/1      1m2s

GANGS
NAMESPACE  NAME     PHASE     PLACED  MIN  GPUS  ALL-REDUCE  WAITING  NODES
ml         trainer  Finished     1/1    1     2    380 GB/s     20ms  dgx-h100-1

GPU MAP  at 0:00:00.020, the busiest moment: 2 of 4 GPUs held
NODE        0 1   HELD BY
dgx-h100-1  A A   A ml/trainer-0
dgx-h100-2  . .   free

NOT RUNNING  1 pod
ml/big  Pending 1m40s  GPU_EXCEEDS_NODE
  no node has 16 GPUs: the largest has 2
  asks for 16 nvidia.com/gpu
  0/2 nodes are available: 2 Insufficient nvidia.com/gpu.

2 pods: 1 succeeded, 1 pending (1 can never fit here)
2 of 4 GPUs held at most, 30 % over the run
1m40s simulated; everything is done or is stuck
)");
}

TEST(RunText, PodsStuckForTheSameReasonAreOneParagraph) {
  RunReport r = example();
  for (const char* name : {"big-2", "big-3", "big-4"}) {
    r.stuck.push_back(r.stuck[0]);
    r.stuck.back().name = name;
  }
  r.stuck[2].waiting = Duration::seconds(200);
  r.stuck.push_back(r.stuck[0]);
  r.stuck.back().name = "other";
  r.stuck.back().asks = "17 nvidia.com/gpu";
  const std::string text = render_run(r, {});
  EXPECT_NE(text.find("NOT RUNNING  5 pods\n"
                      "ml/big, big-2 and 2 more  Pending 3m20s  GPU_EXCEEDS_NODE\n"
                      "  no node has 16 GPUs: the largest has 2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n\nml/other  Pending 1m40s"), std::string::npos) << text;
}

TEST(RunText, SectionsWithoutContentAreLeftOut) {
  RunReport r;
  r.outcome = Outcome::TimeUp;
  EXPECT_EQ(render_run(r, {}), "\n0 pods\n0s simulated; the time limit is reached\n");
}

TEST(RunText, RealTimeIsNotCalledSimulated) {
  RunReport r = example();
  r.cluster.speed = "real";
  EXPECT_TRUE(render_run(r, {}).ends_with("1m40s of real time; everything is done or is stuck\n"))
      << render_run(r, {});
}

TEST(RunText, TheEndIsDrawnWhenItDiffersAndHoldsGpus) {
  RunReport r = example();
  r.at_end = two_nodes(Duration::seconds(100), "ml/other");
  const std::string text = render_run(r, {});
  EXPECT_NE(text.find("GPU MAP  at 0:01:40.000, the end: 2 of 4 GPUs held\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("dgx-h100-1  A A   A ml/other\n"), std::string::npos) << text;
}

TEST(RunText, ASecondMapIsNotDrawnWhenNothingChanged) {
  RunReport r = example();
  r.at_end = two_nodes(Duration::seconds(100), "ml/trainer-0");
  EXPECT_EQ(render_run(r, {}).find("the end"), std::string::npos);
}

TEST(RunText, RestartsGetAColumnWhenThereWereSome) {
  RunReport r = example();
  EXPECT_EQ(render_run(r, {}).find("RESTARTS"), std::string::npos);
  r.pods[0].restarts = 3;
  const std::string text = render_run(r, {});
  EXPECT_NE(text.find("RUNNING  RESTARTS\n"), std::string::npos) << text;
  EXPECT_NE(text.find("      1m         3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("       -         -\n"), std::string::npos) << text;
}

TEST(RunText, APodThatDoesNotGoIsTerminatingAndStuck) {
  RunReport r;
  PodLine& pod = r.pods.emplace_back();
  pod.ns = "ml";
  pod.name = "ghost";
  pod.phase = "Running";
  pod.terminating = true;
  const std::string text = render_run(r, {});
  EXPECT_NE(text.find("ml         ghost  Terminating"), std::string::npos) << text;
  EXPECT_NE(text.find("1 pod: 1 terminating\n"), std::string::npos) << text;
  EXPECT_NE(text.find("; everything is stuck\n"), std::string::npos) << text;
}

struct End {
  const char* name;
  std::vector<std::string> phases;
  const char* want;
};

class SettledEnds : public ::testing::TestWithParam<End> {};

TEST_P(SettledEnds, SayWhatIsLeft) {
  RunReport r;
  for (const std::string& phase : GetParam().phases) {
    r.pods.emplace_back().phase = phase;
  }
  EXPECT_TRUE(render_run(r, {}).ends_with(std::string("0s simulated; ") + GetParam().want + "\n"))
      << render_run(r, {});
}

INSTANTIATE_TEST_SUITE_P(
    Table, SettledEnds,
    ::testing::Values(
        End{"nothing", {}, "no pod was there to run"},
        End{"jobs", {"Succeeded", "Failed", "Deleted"}, "everything is done"},
        End{"services", {"Running"}, "everything runs on"},
        End{"mistake", {"Pending"}, "everything is stuck"},
        End{"jobs_and_services", {"Succeeded", "Running"}, "everything is done or runs on"},
        End{"all", {"Running", "Failed", "Pending"}, "everything is done, runs on or is stuck"}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(RunText, AClusterWhoseGpusNobodyTookIsNotDrawn) {
  RunReport r = example();
  r.busiest = two_nodes(Duration(), "");
  EXPECT_EQ(render_run(r, {}).find("GPU MAP"), std::string::npos);
  r.at_end.nodes[0].gpus[1].state = GpuCell::State::Unhealthy;
  EXPECT_NE(render_run(r, {}).find("! GPU 1 unhealthy"), std::string::npos) << render_run(r, {});
}

TEST(RunText, RejectedObjectsNameTheirPlace) {
  RunReport r;
  r.rejected = {
      {.object =
           {.api_version = "v1", .kind = "Pod", .ns = "ml", .name = "x", .source = "p.yaml:4"},
       .code = "Invalid",
       .message = "spec.containers: required"}};
  EXPECT_NE(render_run(r, {}).find(
                "REJECTED  by the API\np.yaml:4: Pod ml/x\n  Invalid: spec.containers: required\n"),
            std::string::npos);
}

TEST(RunText, LongMessagesWrapOnANarrowTerminal) {
  RunReport r = example();
  const std::string text = render_run(r, {.width = 40});
  EXPECT_NE(text.find("  0/2 nodes are available: 2\n  Insufficient nvidia.com/gpu.\n"),
            std::string::npos)
      << text;
}

TEST(TimelineLine, AlignsObjectsAndSteps) {
  const TimelineLine line{.at = Duration::millis(1234),
                          .object = "pod/ml/a",
                          .what = "Bound",
                          .detail = "dgx-h100-1 GPUs 0,1",
                          .warning = false};
  EXPECT_EQ(render_timeline_line(line, 10, {}),
            " 0:00:01.234  pod/ml/a    Bound              dgx-h100-1 GPUs 0,1");
  EXPECT_EQ(
      render_timeline_line({.at = {}, .object = "node/a", .what = "Ready", .detail = ""}, 10, {}),
      " 0:00:00.000  node/a      Ready");
}

TEST(ClusterLine, NamesWhatTheClusterIsMadeOf) {
  EXPECT_EQ(render_cluster(example().cluster, {}),
            "cluster  2 nodes, 4 GPUs: 2 dgx-h100\n"
            "run      seed 7, virtual time, GPU policy topology\n");
  ClusterLine line = example().cluster;
  line.scheduler_config = "sched.yaml";
  line.profiles = {{.scheduler_name = "default-scheduler", .kubernetes_version = "1.36"},
                   {.scheduler_name = "gpu-binpack", .kubernetes_version = "1.34"}};
  EXPECT_EQ(render_cluster(line, {}),
            "cluster  2 nodes, 4 GPUs: 2 dgx-h100\n"
            "run      seed 7, virtual time, GPU policy topology\n"
            "profiles default-scheduler (rules of 1.36), gpu-binpack (rules of 1.34); from "
            "sched.yaml\n");
}

} // namespace
} // namespace berth::report
