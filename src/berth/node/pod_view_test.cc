#include "berth/node/pod_view.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using runtime::ContainerEvent;
using runtime::ContainerState;
using runtime::SandboxState;
using ::testing::SizeIs;

runtime::ContainerStatus status(std::string id, std::string name, std::uint32_t attempt,
                                ContainerState state, int exit_code = 0,
                                std::string sandbox = "s0") {
  return {.id = std::move(id),
          .sandbox_id = std::move(sandbox),
          .name = std::move(name),
          .attempt = attempt,
          .state = state,
          .exit_code = exit_code};
}

class View : public ::testing::Test {
 protected:
  void add(runtime::ContainerStatus container) {
    const std::string id = container.id;
    record_.containers[id] = std::move(container);
  }
  void sandbox(std::string id, std::uint32_t attempt, SandboxState state = SandboxState::Ready) {
    record_.sandboxes[id] = {.id = id, .attempt = attempt, .state = state};
  }
  PodView view() {
    pod_ = builder_.build();
    return make_pod_view(*pod_, record_);
  }

  test::PodBuilder builder_ = test::pod("p");
  std::shared_ptr<const model::Pod> pod_;
  PodRecord record_;
};

TEST_F(View, NothingThereYet) {
  const PodView now = view();
  EXPECT_EQ(now.sandbox, nullptr);
  EXPECT_FALSE(now.sandbox_ready());
  EXPECT_FALSE(now.any_running());
  ASSERT_THAT(now.containers, SizeIs(1));
  EXPECT_EQ(now.containers[0].current, nullptr);
  EXPECT_EQ(now.containers[0].next_attempt, 0u);
}

TEST_F(View, ContainersComeInTheOrderOfTheirStart) {
  builder_.init_container("i").sidecar("s").container("b");
  const PodView now = view();
  ASSERT_THAT(now.containers, SizeIs(4));
  EXPECT_EQ(now.containers[0].spec->name, "i");
  EXPECT_EQ(now.containers[0].role, Role::Init);
  EXPECT_EQ(now.containers[1].role, Role::Sidecar);
  EXPECT_EQ(now.containers[2].spec->name, "main");
  EXPECT_EQ(now.containers[3].role, Role::App);
}

TEST_F(View, TheLatestAttemptCountsAndTheOneBeforeIsRemembered) {
  sandbox("s0", 0);
  // The order of ids is not that of attempts.
  add(status("a", "main", 2, ContainerState::Running));
  add(status("b", "main", 0, ContainerState::Exited, 1));
  add(status("c", "main", 1, ContainerState::Exited, 2));
  add(status("d", "stranger", 9, ContainerState::Running));
  const ContainerView main = view().containers[0];
  EXPECT_EQ(main.current->id, "a");
  EXPECT_EQ(main.previous->id, "c");
  EXPECT_EQ(main.next_attempt, 3u);
  EXPECT_TRUE(view().any_running());
}

TEST_F(View, TheLatestSandboxIsTheOne) {
  sandbox("s9", 0, SandboxState::NotReady);
  sandbox("s1", 1);
  EXPECT_EQ(view().sandbox->id, "s1");
  EXPECT_TRUE(view().sandbox_ready());
}

TEST_F(View, InANewSandboxAPodBeginsAnew) {
  builder_.init_container("i").restart_policy("OnFailure").container("done");
  sandbox("s0", 0, SandboxState::NotReady);
  sandbox("s1", 1);
  add(status("a", "i", 0, ContainerState::Exited, 0));
  add(status("b", "main", 0, ContainerState::Exited, 255));
  add(status("c", "done", 0, ContainerState::Exited, 0));
  const PodView now = view();
  EXPECT_EQ(now.containers[0].current, nullptr) << "init containers run again";
  EXPECT_EQ(now.containers[0].previous->id, "a");
  EXPECT_EQ(now.containers[0].next_attempt, 1u);
  EXPECT_EQ(now.containers[1].current, nullptr) << "it failed and is to run again";
  EXPECT_EQ(now.containers[2].current->id, "c") << "its end was final";
  EXPECT_FALSE(now.init_phase_over());
}

TEST_F(View, TheInitPhaseIsOverOnceAnAppContainerIsMade) {
  builder_.init_container("i");
  sandbox("s0", 0);
  add(status("a", "i", 0, ContainerState::Exited, 0));
  EXPECT_FALSE(view().init_phase_over());
  add(status("b", "main", 0, ContainerState::Created));
  EXPECT_TRUE(view().init_phase_over());
}

struct Policy {
  Role role;
  const char* policy;
  int exit_code;
  bool restarts;
};

TEST(Restarts, ByRolePolicyAndEnd) {
  const Policy table[] = {{Role::App, "Always", 0, true},       {Role::App, "Always", 1, true},
                          {Role::App, "OnFailure", 0, false},   {Role::App, "OnFailure", 1, true},
                          {Role::App, "Never", 0, false},       {Role::App, "Never", 1, false},
                          {Role::Init, "Always", 0, false},     {Role::Init, "Always", 1, true},
                          {Role::Init, "OnFailure", 1, true},   {Role::Init, "Never", 1, false},
                          {Role::Init, "Never", 0, false},      {Role::Sidecar, "Never", 0, true},
                          {Role::Sidecar, "Never", 1, true},    {Role::Sidecar, "Always", 0, true},
                          {Role::Sidecar, "OnFailure", 0, true}};
  for (const Policy& row : table) {
    EXPECT_EQ(restarts(row.role, row.policy, row.exit_code), row.restarts)
        << to_string(row.role) << " " << row.policy << " " << row.exit_code;
  }
}

TEST_F(View, AnEventNeverTakesAStateBack) {
  const auto hear = [&](ContainerEvent::Type type, ContainerState state) {
    apply_event(record_, {type, status("a", "main", 0, state)});
  };
  hear(ContainerEvent::Type::Started, ContainerState::Running);
  EXPECT_THAT(record_.containers, SizeIs(0)) << "of one nobody knows only the making is heard";
  hear(ContainerEvent::Type::Created, ContainerState::Created);
  hear(ContainerEvent::Type::Stopped, ContainerState::Exited);
  hear(ContainerEvent::Type::Started, ContainerState::Running);
  EXPECT_EQ(record_.containers.at("a").state, ContainerState::Exited);
  hear(ContainerEvent::Type::Deleted, ContainerState::Exited);
  EXPECT_THAT(record_.containers, SizeIs(0));
}

TEST_F(View, RepeatsWhatItHasDoneBefore) {
  sandbox("s0", 0);
  EXPECT_FALSE(repeats(view()));
  add(status("a", "main", 0, ContainerState::Exited, 0));
  add(status("b", "main", 1, ContainerState::Running));
  EXPECT_TRUE(repeats(view())) << "it ended well and runs again";
  builder_.edit([](auto& document) { document["spec"].as_object()["activeDeadlineSeconds"] = 60; });
  EXPECT_FALSE(repeats(view())) << "its deadline will end that";
}

TEST_F(View, AFailureIsGivenADozenTries) {
  builder_.restart_policy("OnFailure");
  sandbox("s0", 0);
  add(status("a", "main", 10, ContainerState::Exited, 1));
  add(status("b", "main", 11, ContainerState::Running));
  EXPECT_FALSE(repeats(view()));
  add(status("c", "main", 12, ContainerState::Running));
  EXPECT_TRUE(repeats(view()));
}

} // namespace
} // namespace berth::node
