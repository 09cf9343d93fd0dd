// PodRuntime and end_orphan on a simulated runtime.
#include "berth/node/pod_runtime.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"
#include "berth/node/container_config.h"
#include "berth/node/device_manager.h"
#include "berth/node/orphan.h"
#include "berth/runtime/simulated_runtime.h"
#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using runtime::ContainerState;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OnRuntime : public ::testing::Test {
 protected:
  OnRuntime() { renew(); }

  // A fresh one, as after a restart of the agent.
  void renew() {
    pod_runtime_ = std::make_shared<PodRuntime>(runtime_, devices_, "u", [this] { ++changes_; });
  }
  void run(Duration span = Duration::seconds(2)) { loop_.run_until(loop_.now() + span); }
  const PodRecord& record() const { return pod_runtime_->record(); }
  std::string sandbox() const { return record().sandboxes.begin()->first; }

  std::optional<Result<void>> make_sandbox(std::uint32_t attempt = 0) {
    std::optional<Result<void>> answer;
    pod_runtime_->run_sandbox(make_sandbox_config(*pod_, attempt),
                              [&](const Result<void>& said) { answer = said; });
    EXPECT_TRUE(pod_runtime_->busy());
    run();
    EXPECT_FALSE(pod_runtime_->busy());
    return answer;
  }
  StartResult start() {
    std::optional<StartResult> answer;
    const PodView view = make_pod_view(*pod_, record());
    pod_runtime_->start(make_start_order(object_, pod_, view, 0, Duration()),
                        [&](const StartResult& said) { answer = said; });
    run();
    EXPECT_TRUE(answer);
    return answer.value_or(StartResult());
  }

  test::PodBuilder builder_ = test::pod("p").image("i").run_for("forever").edit(
      [](auto& document) { document["metadata"].as_object()["uid"] = "u"; });
  api::Object object_ = builder_.object();
  std::shared_ptr<const model::Pod> pod_ = builder_.build();
  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  cdi::Registry cdi_;
  runtime::SimulatedRuntime runtime_{loop_, cdi_, {.machine = "n1"}};
  MemoryCheckpointStore disk_;
  DeviceManager devices_{loop_,
                         disk_,
                         {.needs_plugin = [](std::string_view) { return false; },
                          .gpu_of_index = [](int) { return std::nullopt; },
                          .holder_state = [](std::string_view) { return HolderState::Live; },
                          .on_change = [] {}}};
  int changes_ = 0;
  std::shared_ptr<PodRuntime> pod_runtime_;
};

TEST_F(OnRuntime, ThePodsWholeWay) {
  ASSERT_TRUE(make_sandbox().value());
  EXPECT_EQ(record().sandboxes.at(sandbox()).state, runtime::SandboxState::Ready);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(start().kind, StartResult::Kind::Started);
  ASSERT_THAT(record().containers, SizeIs(1));
  const std::string id = record().containers.begin()->first;
  EXPECT_EQ(record().containers.at(id).state, ContainerState::Running);
  pod_runtime_->stop_container(id, Duration::seconds(30));
  EXPECT_FALSE(pod_runtime_->busy()) << "a stop may take long and keeps nothing from happening";
  run();
  EXPECT_EQ(record().containers.at(id).state, ContainerState::Exited) << "without any event";
  pod_runtime_->stop_sandbox(sandbox());
  run();
  EXPECT_EQ(record().sandboxes.at(sandbox()).state, runtime::SandboxState::NotReady);
  pod_runtime_->remove_sandbox(sandbox());
  run();
  EXPECT_THAT(record().sandboxes, IsEmpty());
}

TEST_F(OnRuntime, WhatADeadAgentAskedForIsFoundInstead) {
  pod_runtime_->run_sandbox(make_sandbox_config(*pod_, 0), [](const Result<void>&) {});
  renew();
  const auto answer = make_sandbox();
  ASSERT_TRUE(answer);
  ASSERT_FALSE(*answer);
  EXPECT_EQ(answer->error().code, Code::AlreadyExists);
  run();
  // It was not there yet when this one looked; the next look finds it.
  EXPECT_FALSE(make_sandbox().value());
  EXPECT_THAT(record().sandboxes, SizeIs(1));
}

TEST_F(OnRuntime, AStartThatFailsLooksAgain) {
  ASSERT_TRUE(make_sandbox().value());
  // Another hand has stopped the sandbox.
  runtime_.stop_pod_sandbox(sandbox(), [](const Result<void>&) {});
  run();
  const StartResult result = start();
  EXPECT_EQ(result.kind, StartResult::Kind::Failed);
  EXPECT_EQ(result.why.reason, "CreateContainerError");
  EXPECT_EQ(record().sandboxes.at(sandbox()).state, runtime::SandboxState::NotReady);
}

TEST_F(OnRuntime, TwoAttemptsAreKept) {
  ASSERT_TRUE(make_sandbox().value());
  for (int attempt = 0; attempt < 4; ++attempt) {
    ASSERT_EQ(start().kind, StartResult::Kind::Started);
    for (const auto& [id, container] : record().containers) {
      pod_runtime_->stop_container(id, Duration());
    }
    run();
  }
  std::vector<std::uint32_t> attempts;
  for (const auto& [id, container] : record().containers) {
    attempts.push_back(container.attempt);
  }
  EXPECT_THAT(attempts, ::testing::UnorderedElementsAre(2, 3));
  std::size_t listed = 0;
  runtime_.list([&](const Result<runtime::Listing>& now) { listed = now->containers.size(); });
  run();
  EXPECT_EQ(listed, 2u);
}

TEST_F(OnRuntime, OneThatIsGoneCallsNobodyBack) {
  bool called = false;
  pod_runtime_->run_sandbox(make_sandbox_config(*pod_, 0),
                            [&](const Result<void>&) { called = true; });
  pod_runtime_.reset();
  run();
  EXPECT_FALSE(called);
  EXPECT_EQ(changes_, 0);
}

TEST_F(OnRuntime, AnOrphanIsEndedWithItsOwnGrace) {
  builder_.annotation("berth.dev/stop-takes", "forever").edit([](auto& document) {
    document["spec"].as_object()["terminationGracePeriodSeconds"] = 7;
  });
  object_ = builder_.object();
  pod_ = builder_.build();
  ASSERT_TRUE(make_sandbox().value());
  ASSERT_EQ(start().kind, StartResult::Kind::Started);
  const auto alive = std::make_shared<int>(0);
  bool done = false;
  end_orphan(runtime_, record(), alive, [&] { done = true; });
  run(Duration::seconds(6));
  EXPECT_FALSE(done);
  EXPECT_THAT(runtime_.running(), SizeIs(1));
  run(Duration::seconds(2));
  EXPECT_TRUE(done);
  EXPECT_THAT(runtime_.running(), IsEmpty());
  std::optional<runtime::Listing> left;
  runtime_.list([&](const Result<runtime::Listing>& now) { left = *now; });
  run();
  EXPECT_THAT(left->sandboxes, IsEmpty());
  EXPECT_THAT(left->containers, IsEmpty());
}

TEST_F(OnRuntime, AnOrphanOfNothingIsDoneLater) {
  const auto alive = std::make_shared<int>(0);
  int done = 0;
  end_orphan(runtime_, {}, alive, [&] { ++done; });
  EXPECT_EQ(done, 0);
  run();
  EXPECT_EQ(done, 1);
}

TEST_F(OnRuntime, AnOrphansEndStopsWithWhoAskedForIt) {
  ASSERT_TRUE(make_sandbox().value());
  ASSERT_EQ(start().kind, StartResult::Kind::Started);
  auto alive = std::make_shared<int>(0);
  bool done = false;
  end_orphan(runtime_, record(), alive, [&] { done = true; });
  alive.reset();
  run(Duration::minutes(1));
  EXPECT_FALSE(done);
  bool listed = false;
  runtime_.list([&](const Result<runtime::Listing>& now) {
    listed = true;
    EXPECT_THAT(now->sandboxes, SizeIs(1)) << "the next agent finds it";
  });
  run();
  EXPECT_TRUE(listed);
}

} // namespace
} // namespace berth::node
