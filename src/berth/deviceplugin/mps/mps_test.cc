#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/base/virtual_loop.h"
#include "berth/deviceplugin/mps/command_runner.h"
#include "berth/deviceplugin/mps/mps_control.h"
#include "berth/deviceplugin/mps/mps_plan.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

inventory::NodeFacts two_gpus() {
  inventory::NodeFacts facts;
  for (int i = 0; i < 2; ++i) {
    inventory::GpuFacts& gpu = facts.gpus.emplace_back();
    gpu.info.index = i;
    gpu.info.uuid = fmt::format("GPU-{}", i);
    gpu.info.memory_mib = 16384;
  }
  return facts;
}

PlannedResource replicas(int each) {
  PlannedResource resource{
      .name = "nvidia.com/gpu", .devices = {}, .sharing = inventory::Sharing::Mps};
  for (int gpu = 0; gpu < 2; ++gpu) {
    for (int i = 0; i < each; ++i) {
      resource.devices.push_back({.id = fmt::format("GPU-{}::{}", gpu, i),
                                  .uuid = fmt::format("GPU-{}", gpu),
                                  .gpu = gpu,
                                  .replica = true});
    }
  }
  return resource;
}

std::vector<std::string> lines(const std::vector<Command>& commands) {
  std::vector<std::string> out;
  for (const Command& command : commands) {
    out.push_back(to_string(command));
  }
  return out;
}

TEST(MpsPlan, GivesEachReplicaItsPartOfMemoryAndThreads) {
  const MpsPlan plan = plan_mps(replicas(3), two_gpus(), "/run/nvidia/mps/");
  EXPECT_THAT(lines(plan.launch),
              ElementsAre("nvidia-smi -i GPU-0 -c EXCLUSIVE_PROCESS",
                          "nvidia-smi -i GPU-1 -c EXCLUSIVE_PROCESS",
                          "mkdir -p /run/nvidia/mps/nvidia.com/gpu/pipe "
                          "/run/nvidia/mps/nvidia.com/gpu/log /run/nvidia/mps/shm",
                          "nvidia-cuda-mps-control -d"));
  EXPECT_THAT(lines(plan.limits),
              ElementsAre("echo set_default_device_pinned_mem_limit 0 5461M | "
                          "nvidia-cuda-mps-control",
                          "echo set_default_device_pinned_mem_limit 1 5461M | "
                          "nvidia-cuda-mps-control",
                          "echo set_default_active_thread_percentage 33 | nvidia-cuda-mps-control",
                          "echo get_default_active_thread_percentage | nvidia-cuda-mps-control"));
  EXPECT_THAT(lines(plan.stop),
              ElementsAre("echo quit | nvidia-cuda-mps-control", "nvidia-smi -i GPU-0 -c DEFAULT",
                          "nvidia-smi -i GPU-1 -c DEFAULT"));
  EXPECT_EQ(plan.limits.front().environment.at("CUDA_MPS_PIPE_DIRECTORY"),
            "/run/nvidia/mps/nvidia.com/gpu/pipe");
}

TEST(MpsPlan, LeavesGpusAloneThatAreNotShared) {
  PlannedResource resource = replicas(2);
  std::erase_if(resource.devices, [](const PluginDevice& device) { return device.gpu == 1; });
  resource.devices.push_back({.id = "GPU-1", .uuid = "GPU-1", .gpu = 1});
  for (const Command& command : plan_mps(resource, two_gpus(), "/mps").launch) {
    EXPECT_THAT(to_string(command), ::testing::Not(HasSubstr("GPU-1")));
  }
}

/// Answers in order; the rest succeeds.
class Script final : public CommandRunner {
 public:
  explicit Script(Loop& loop, std::deque<bool> answers)
      : loop_(&loop), answers_(std::move(answers)) {}
  void run(const Command& command, Done<std::string> done) override {
    asked.push_back(command);
    bool well = true;
    if (!answers_.empty()) {
      well = answers_.front();
      answers_.pop_front();
    }
    loop_->post([done = std::move(done), well] {
      done(well ? Result<std::string>("") : fail(Code::Unavailable, "it does not"));
    });
  }
  std::vector<Command> asked;

 private:
  Loop* loop_;
  std::deque<bool> answers_;
};

class MpsControls : public ::testing::Test {
 protected:
  MpsControls() { set_log_level(LogLevel::Off); }
  ~MpsControls() override { set_log_level(LogLevel::Warn); }
  void run(Duration span) { loop_.run_until(loop_.now() + span); }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1)};
  MpsPlan plan_ = plan_mps(replicas(2), two_gpus(), "/mps");
  int ready_ = 0;
};

TEST_F(MpsControls, AreReadyAfterTheLastLimit) {
  Script script(loop_, {false}); // no daemon yet
  const MpsControl control(loop_, script, plan_, [&] { ++ready_; });
  EXPECT_FALSE(control.ready());
  run(Duration::seconds(1));
  EXPECT_TRUE(control.ready());
  EXPECT_EQ(ready_, 1);
  std::vector<Command> want{plan_.alive};
  want.insert(want.end(), plan_.launch.begin(), plan_.launch.end());
  want.insert(want.end(), plan_.limits.begin(), plan_.limits.end());
  EXPECT_EQ(script.asked, want);
}

TEST_F(MpsControls, TryAgainFromTheStartWhenALimitIsRefused) {
  // No daemon; it is launched (4 commands); the first limit fails; then the daemon answers.
  Script script(loop_, {false, true, true, true, true, false});
  const MpsControl control(loop_, script, plan_, [&] { ++ready_; });
  run(Duration::millis(500));
  EXPECT_FALSE(control.ready());
  EXPECT_THAT(control.problem(), HasSubstr("nvidia.com/gpu is not advertised before MPS runs"));
  run(Duration::seconds(1));
  EXPECT_TRUE(control.ready());
  EXPECT_THAT(control.problem(), IsEmpty());
  EXPECT_EQ(ready_, 1);
  EXPECT_EQ(std::ranges::count(script.asked, plan_.launch.back()), 1) << "launched once";
}

TEST_F(MpsControls, ADroppedOneSaysNothing) {
  Script script(loop_, {});
  auto control = std::make_unique<MpsControl>(loop_, script, plan_, [&] { ++ready_; });
  control.reset();
  run(Duration::seconds(1));
  EXPECT_EQ(ready_, 0);
}

// ---- real processes -----------------------------------------------------------------------------

class Processes : public ::testing::Test {
 protected:
  Result<std::string> run(const Command& command) {
    std::optional<Result<std::string>> answer;
    runner_.run(command, [&](Result<std::string> said) { answer = std::move(said); });
    EXPECT_FALSE(answer) << "a later task";
    loop_.run_until(loop_.now() + Duration::seconds(1));
    return answer.value_or(fail(Code::Internal, "no answer"));
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1)};
  Foreground background_{loop_};
  ProcessRunner runner_{background_};
};

TEST_F(Processes, TakeInputAndEnvironmentAndGiveOutput) {
  EXPECT_EQ(run({.argv = {"cat"}, .input = "set_default 1\n"}), "set_default 1\n");
  EXPECT_EQ(run({.argv = {"sh", "-c", "printf %s \"$CUDA_MPS_PIPE_DIRECTORY\""},
                 .environment = {{"CUDA_MPS_PIPE_DIRECTORY", "/mps/pipe"}}}),
            "/mps/pipe");
}

TEST_F(Processes, ThatFailSayHow) {
  const auto failed = run({.argv = {"sh", "-c", "echo no such device >&2; exit 3"}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::Unavailable);
  EXPECT_THAT(failed.error().message, HasSubstr("failed with status 3: no such device"));
}

TEST_F(Processes, ThatAreNotInstalledAreNotFound) {
  const auto missing = run({.argv = {"nvidia-cuda-mps-control-of-nobody", "-d"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::NotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("cannot run nvidia-cuda-mps-control-of-nobody"));
}

TEST_F(Processes, ThatReadNothingAreNoSignalToUs) {
  EXPECT_EQ(run({.argv = {"true"}, .input = std::string(1 << 20, 'x')}), "");
}

TEST_F(Processes, ThatLeaveADaemonBehindHaveEnded) {
  // It holds the output open for longer than we wait.
  EXPECT_EQ(run({.argv = {"sh", "-c", "(exec sleep 5) & echo started"}}), "started\n");
}

} // namespace
} // namespace berth::deviceplugin
