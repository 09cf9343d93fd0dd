#include "berth/cli/run/build_report.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"

namespace berth::cli {
namespace {

using report::Alone;
using report::RunReport;

report::StuckPod stuck(std::string name, std::string phase, Alone alone) {
  report::StuckPod pod;
  pod.ns = "ml";
  pod.name = std::move(name);
  pod.phase = std::move(phase);
  pod.alone = alone;
  return pod;
}

report::JobLine job(std::string name, std::string status) {
  report::JobLine line;
  line.ns = "ml";
  line.name = std::move(name);
  line.status = std::move(status);
  return line;
}

RunReport with(std::vector<report::StuckPod> pods) {
  RunReport r;
  r.stuck = std::move(pods);
  return r;
}

TEST(ExitCode, IsZeroWhenAllThatCanRunRan) {
  EXPECT_EQ(exit_code_of({}, false), kDone);
  EXPECT_EQ(exit_code_of({}, true), kDone);
  EXPECT_EQ(exit_code_of(with({stuck("p", "Pending", Alone::Never)}), false), kDone);
  EXPECT_EQ(exit_code_of(with({stuck("p", "Pending", Alone::Unknown)}), false), kDone);
}

TEST(ExitCode, IsThreeForWhatNeverFitsWhenAsked) {
  EXPECT_EQ(exit_code_of(with({stuck("p", "Pending", Alone::Never)}), true), kDoesNotFit);
  EXPECT_EQ(exit_code_of(with({stuck("p", "Pending", Alone::Unknown)}), true), kDoesNotFit);
}

TEST(ExitCode, IsOneWhenAPodCouldHaveRun) {
  EXPECT_EQ(
      exit_code_of(with({stuck("p", "Pending", Alone::Never), stuck("q", "Pending", Alone::Runs)}),
                   true),
      kFailed);
}

TEST(ExitCode, IsOneForFailures) {
  EXPECT_EQ(exit_code_of(with({stuck("p", "Failed", Alone::Unknown)}), false), kFailed);
  RunReport failed_job;
  failed_job.jobs = {job("j", "Failed")};
  EXPECT_EQ(exit_code_of(failed_job, false), kFailed);
  RunReport refused;
  refused.rejected.emplace_back();
  EXPECT_EQ(exit_code_of(refused, false), kFailed);
  RunReport interrupted;
  interrupted.outcome = report::Outcome::Interrupted;
  EXPECT_EQ(exit_code_of(interrupted, false), kFailed);
  RunReport time_up;
  time_up.outcome = report::Outcome::TimeUp;
  EXPECT_EQ(exit_code_of(time_up, false), kDone);
}

TEST(ExitCode, APodThatFailedOnTheWayToItsJobsCompletionIsNoFailure) {
  RunReport r = with({stuck("j-1", "Failed", Alone::Unknown)});
  report::PodLine line;
  line.ns = "ml";
  line.name = "j-1";
  line.owner = "Job/j";
  r.pods = {line};
  r.jobs = {job("j", "Complete")};
  EXPECT_EQ(exit_code_of(r, true), kDone);
  r.jobs = {job("j", "Running")};
  EXPECT_EQ(exit_code_of(r, true), kFailed);
  r.jobs = {job("other", "Complete")};
  EXPECT_EQ(exit_code_of(r, true), kFailed);
}

TEST(ClusterLine, CountsNodesByPlatform) {
  cluster::ClusterSpec spec;
  spec.groups = {{.platform = "dgx-h100", .count = 4, .prefix = "", .labels = {}, .taints = {}},
                 {.platform = "t4-pcie-1", .count = 2, .prefix = "", .labels = {}, .taints = {}},
                 {.platform = "dgx-h100", .count = 1, .prefix = "x", .labels = {}, .taints = {}}};
  RunOptions options;
  options.cluster.seed = 9;
  const report::ClusterLine line = cluster_line(spec, options);
  EXPECT_EQ(line.nodes, 7);
  EXPECT_EQ(line.gpus, 42);
  EXPECT_EQ(line.seed, 9U);
  EXPECT_EQ(line.speed, "virtual");
  EXPECT_EQ(line.gpu_policy, "topology");
  ASSERT_EQ(line.platforms.size(), 2U);
  EXPECT_EQ(line.platforms[0], (std::pair<std::string, int>("dgx-h100", 5)));
}

TEST(ContainerDocument, HasEverythingTheContainerSees) {
  const runtime::ContainerFacts facts{
      .container = "c",
      .env = {{"NVIDIA_VISIBLE_DEVICES", "GPU-1"}},
      .devices =
          {{.path = "/dev/nvidia0", .type = 'c', .major = 195, .minor = 0, .permissions = "rwm"}},
      .mounts = {{.source = "/usr/bin/nvidia-smi",
                  .destination = "/usr/bin/nvidia-smi",
                  .options = {"ro", "bind"}}},
      .cdi_devices = {"nvidia.com/gpu=0"}};
  EXPECT_EQ(
      api::to_json(container_document(facts)),
      R"({"name":"c","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"GPU-1"}],)"
      R"("devices":[{"path":"/dev/nvidia0","type":"c","major":195,"minor":0,"permissions":"rwm"}],)"
      R"("mounts":[{"source":"/usr/bin/nvidia-smi","destination":"/usr/bin/nvidia-smi","options":["ro","bind"]}],)"
      R"("cdiDevices":["nvidia.com/gpu=0"]})");
}

} // namespace
} // namespace berth::cli
