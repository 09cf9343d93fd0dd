#include "berth/node/pod_actions.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using runtime::ContainerState;
using runtime::SandboxState;
using Kind = PodAction::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TimePoint kNow = TimePoint::from_unix_seconds(10'000);

class Actions : public ::testing::Test {
 protected:
  Actions() { builder_.restart_policy("OnFailure"); }

  void sandbox(SandboxState state = SandboxState::Ready, std::uint32_t attempt = 0) {
    record_.sandboxes["s0"] = {.id = "s0", .attempt = attempt, .state = state};
  }
  // One attempt of a container; ended ones ran for 10 s and ended now.
  runtime::ContainerStatus& add(const std::string& name, ContainerState state, int exit_code = 0,
                                std::uint32_t attempt = 0) {
    const std::string id = name + std::to_string(attempt);
    record_.containers[id] = {.id = id,
                              .sandbox_id = "s0",
                              .name = name,
                              .attempt = attempt,
                              .state = state,
                              .started_at = kNow - Duration::seconds(10),
                              .finished_at = kNow,
                              .exit_code = exit_code};
    return record_.containers[id];
  }
  PodView view() {
    pod_ = builder_.build();
    return make_pod_view(*pod_, record_);
  }
  // "start main", "stop log", "sandbox", "finish", "nothing", "nothing until 10".
  std::string next(TimePoint now = kNow) {
    const PodView now_is = view();
    const PodAction action = next_action(now_is, held_, now);
    const std::string& name = now_is.containers[action.container].spec->name;
    switch (action.kind) {
    case Kind::Nothing:
      return action.not_before
                 ? "nothing until " + std::to_string((*action.not_before - kNow).count_seconds())
                 : "nothing";
    case Kind::CreateSandbox:
      return "sandbox";
    case Kind::StartContainer:
      return "start " + name;
    case Kind::StopContainer:
      return "stop " + name;
    case Kind::Finish:
      return "finish";
    }
    return "";
  }

  test::PodBuilder builder_ = test::pod("p");
  std::shared_ptr<const model::Pod> pod_;
  PodRecord record_;
  std::map<std::string, TimePoint> held_;
};

TEST_F(Actions, ASandboxThenTheContainersThenNothingThenTheEnd) {
  builder_.container("b");
  EXPECT_EQ(next(), "sandbox");
  sandbox();
  EXPECT_EQ(next(), "start main");
  add("main", ContainerState::Created);
  EXPECT_EQ(next(), "start main") << "made, not yet started";
  add("main", ContainerState::Running);
  EXPECT_EQ(next(), "start b");
  add("b", ContainerState::Running);
  EXPECT_EQ(next(), "nothing");
  add("b", ContainerState::Exited);
  EXPECT_EQ(next(), "nothing");
  add("main", ContainerState::Exited);
  EXPECT_EQ(next(), "finish");
}

TEST_F(Actions, InitContainersInTheirOrder) {
  builder_.init_container("i1").init_container("i2");
  sandbox();
  EXPECT_EQ(next(), "start i1");
  add("i1", ContainerState::Running);
  EXPECT_EQ(next(), "nothing");
  add("i1", ContainerState::Exited);
  EXPECT_EQ(next(), "start i2");
  add("i2", ContainerState::Exited, 1);
  EXPECT_EQ(next(), "start i2") << "a first failure is tried again at once";
  add("i2", ContainerState::Exited, 0);
  EXPECT_EQ(next(), "start main");
}

TEST_F(Actions, SidecarsRunBesideAndEndLast) {
  builder_.sidecar("log").init_container("i").sidecar("proxy");
  sandbox();
  EXPECT_EQ(next(), "start log");
  add("log", ContainerState::Running);
  EXPECT_EQ(next(), "start i");
  add("i", ContainerState::Exited);
  EXPECT_EQ(next(), "start proxy");
  add("proxy", ContainerState::Running);
  EXPECT_EQ(next(), "start main");
  add("main", ContainerState::Running);
  add("log", ContainerState::Exited, 0);
  EXPECT_EQ(next(), "start log") << "a sidecar that ends is started again";
  add("log", ContainerState::Running);
  add("main", ContainerState::Exited);
  EXPECT_EQ(next(), "stop proxy") << "from the last";
  add("proxy", ContainerState::Exited, 143);
  EXPECT_EQ(next(), "stop log");
  add("log", ContainerState::Exited, 143);
  EXPECT_EQ(next(), "finish");
}

TEST_F(Actions, AFailedInitContainerOfAPodThatNeverRestartsIsTheEnd) {
  builder_.restart_policy("Never").sidecar("log").init_container("i");
  sandbox();
  add("log", ContainerState::Running);
  add("i", ContainerState::Exited, 1);
  EXPECT_EQ(outcome_of(view()), Outcome::Failed);
  EXPECT_EQ(next(), "stop log");
}

TEST_F(Actions, AFailedContainerIsStartedAgainAfterItsBackoff) {
  sandbox();
  add("main", ContainerState::Exited, 1);
  EXPECT_EQ(next(), "start main");
  add("main", ContainerState::Exited, 1, 1);
  EXPECT_EQ(next(), "nothing until 10");
  EXPECT_EQ(next(kNow + Duration::seconds(10)), "start main");
  const PodView now_is = view();
  EXPECT_EQ(next_action(now_is, {}, kNow + Duration::seconds(10)).delay, Duration::seconds(10));
}

TEST_F(Actions, WhatIsHeldWaits) {
  builder_.container("b");
  sandbox();
  held_["main"] = kNow + Duration::seconds(7);
  EXPECT_EQ(next(), "start b") << "others go on";
  add("b", ContainerState::Running);
  EXPECT_EQ(next(), "nothing until 7");
  EXPECT_EQ(next(kNow + Duration::seconds(7)), "start main");
}

TEST_F(Actions, AHeldInitContainerHoldsAllThatFollow) {
  builder_.init_container("i");
  sandbox();
  held_["i"] = kNow + Duration::seconds(7);
  EXPECT_EQ(next(), "nothing until 7");
}

TEST_F(Actions, ALostSandboxIsMadeAnew) {
  sandbox(SandboxState::NotReady);
  add("main", ContainerState::Exited, 255);
  EXPECT_EQ(next(), "sandbox");
  add("main", ContainerState::Exited, 0);
  EXPECT_EQ(next(), "finish") << "unless the work was done";
}

TEST_F(Actions, APodThatNeverRestartsAndLostItsSandboxIsOver) {
  builder_.restart_policy("Never").container("b");
  sandbox(SandboxState::NotReady);
  EXPECT_EQ(next(), "sandbox") << "nothing of it had begun";
  add("main", ContainerState::Exited, 0);
  EXPECT_EQ(outcome_of(view()), Outcome::Failed) << "b never ran";
  EXPECT_EQ(next(), "finish");
}

TEST_F(Actions, OutcomesByPolicy) {
  builder_.container("b");
  sandbox();
  add("main", ContainerState::Exited, 0);
  EXPECT_EQ(outcome_of(view()), Outcome::Unfinished);
  add("b", ContainerState::Exited, 3);
  EXPECT_EQ(outcome_of(view()), Outcome::Unfinished) << "it will be started again";
  builder_.restart_policy("Never");
  EXPECT_EQ(outcome_of(view()), Outcome::Failed);
  add("b", ContainerState::Exited, 0);
  EXPECT_EQ(outcome_of(view()), Outcome::Succeeded);
  builder_.restart_policy("Always");
  EXPECT_EQ(outcome_of(view()), Outcome::Unfinished);
}

TEST_F(Actions, StopsAreAppsTogetherThenSidecarsOneByOne) {
  builder_.sidecar("s1").sidecar("s2").container("b");
  sandbox();
  EXPECT_THAT(next_stops(view()), IsEmpty());
  add("s1", ContainerState::Running);
  add("s2", ContainerState::Running);
  add("main", ContainerState::Running);
  add("b", ContainerState::Running);
  EXPECT_THAT(next_stops(view()), ElementsAre(2, 3));
  add("main", ContainerState::Exited);
  EXPECT_THAT(next_stops(view()), ElementsAre(3));
  add("b", ContainerState::Exited);
  EXPECT_THAT(next_stops(view()), ElementsAre(1));
  add("s2", ContainerState::Exited);
  EXPECT_THAT(next_stops(view()), ElementsAre(0));
}

TEST(RestartDelay, DoublesAndForgets) {
  runtime::ContainerStatus ended{
      .attempt = 0, .started_at = kNow, .finished_at = kNow + Duration::seconds(1)};
  EXPECT_EQ(restart_delay(ended), Duration());
  ended.attempt = 1;
  std::vector<std::int64_t> delays;
  for (int i = 0; i < 7; ++i) {
    delays.push_back(restart_delay(ended).count_seconds());
    ended.annotations[std::string(kRestartDelayAnnotation)] = std::to_string(delays.back());
  }
  EXPECT_THAT(delays, ElementsAre(10, 20, 40, 80, 160, 300, 300));
  ended.finished_at = kNow + Duration::minutes(10);
  EXPECT_EQ(restart_delay(ended), Duration()) << "a long run is a recovery";
  ended.finished_at = kNow + Duration::seconds(1);
  ended.annotations[std::string(kRestartDelayAnnotation)] = "nonsense";
  EXPECT_EQ(restart_delay(ended), Duration::seconds(10));
}

TEST_F(Actions, WhatFollowsASidecarWaitsUntilItHasStarted) {
  builder_.sidecar("log");
  sandbox();
  add("log", ContainerState::Running);
  PodView now_is = view();
  EXPECT_EQ(next_action(now_is, held_, kNow).kind, Kind::StartContainer);
  now_is.containers[0].starting = true;
  EXPECT_EQ(next_action(now_is, held_, kNow).kind, Kind::Nothing);
}

} // namespace
} // namespace berth::node
