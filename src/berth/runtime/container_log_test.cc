#include "berth/runtime/container_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ContainerLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const LogLine& line : log_of({.status = status,
                               .config = config,
                               .facts = facts,
                               .run_for = run_for,
                               .asked_to_stop = asked_to_stop})) {
      out.push_back(to_rfc3339(line.at).substr(17, 2) + " " + line.text);
    }
    return out;
  }
  static TimePoint at(std::int64_t second) { return TimePoint::from_unix_seconds(60 + second); }

  ContainerStatus status{.state = ContainerState::Running, .started_at = at(1)};
  ContainerConfig config{.name = "c", .image = "train:1"};
  ContainerFacts facts;
  Duration run_for = Duration::max();
  std::optional<AskedToStop> asked_to_stop;
};

TEST_F(ContainerLogTest, NothingIsSaidBeforeTheStart) {
  status.started_at = TimePoint();
  status.state = ContainerState::Created;
  EXPECT_THAT(texts(), IsEmpty());
}

TEST_F(ContainerLogTest, WhatRunsAndWhatItSees) {
  EXPECT_THAT(texts(),
              ElementsAre("01 started container c of image train:1, with the image's command",
                          "01 sees no GPU", "01 simulated: runs until it is stopped"));
  config.command = {"python", "-c", "a\nb"};
  config.args = {"--epochs", "3"};
  config.attempt = 2;
  facts.devices = {{.path = "/dev/nvidia0"}, {.path = "/dev/nvidia3"}, {.path = "/dev/nvidiactl"}};
  facts.env = {{"NVIDIA_VISIBLE_DEVICES", "GPU-a,GPU-b"}};
  run_for = Duration::seconds(90);
  EXPECT_THAT(
      texts(),
      ElementsAre("01 started container c of image train:1, restart 2: python -c a\\nb --epochs 3",
                  "01 sees 2 GPUs: /dev/nvidia0 /dev/nvidia3, NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b",
                  "01 simulated: runs for 1m30s"));
}

TEST_F(ContainerLogTest, TheEnd) {
  asked_to_stop = AskedToStop{.at = at(5), .grace = Duration::seconds(30)};
  status.state = ContainerState::Exited;
  status.finished_at = at(6);
  status.exit_code = 143;
  status.reason = "Error";
  const auto lines = texts();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[3], "05 got SIGTERM, 30s until SIGKILL");
  EXPECT_EQ(lines[4], "06 ended after 5s with exit code 143 (Error)");
}

} // namespace
} // namespace berth::runtime
