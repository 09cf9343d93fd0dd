#include "berth/node/pod_status.h"

#include <memory>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using runtime::ContainerState;

const TimePoint kNow = TimePoint::from_unix_seconds(1'700'000'000); // 2023-11-14T22:13:20Z
const TimePoint kLater = kNow + Duration::seconds(60);

class Status : public ::testing::Test {
 protected:
  Status() {
    facts_.now = kNow;
    facts_.host_ip = "10.0.0.1";
    facts_.start_time = kNow;
  }
  void sandbox(std::string ip = "100.64.0.2") {
    record_.sandboxes["s"] = {.id = "s", .ip = std::move(ip)};
  }
  void add(const std::string& name, ContainerState state, int exit_code = 0,
           std::uint32_t attempt = 0) {
    const std::string id = fmt::format("{}-{}", name, attempt);
    record_.containers[id] = {.id = id,
                              .sandbox_id = "s",
                              .name = name,
                              .attempt = attempt,
                              .state = state,
                              .started_at = kNow,
                              .finished_at = kNow + Duration::seconds(5),
                              .exit_code = exit_code,
                              .reason = exit_code == 0 ? "Completed" : "Error",
                              .image_id = "id:" + name};
  }
  void make() {
    pod_ = builder_.build();
    const json::value stored(stored_);
    PodView view = make_pod_view(*pod_, record_);
    mark_(view);
    status_ = make_pod_status(view, facts_, &stored);
  }
  // A member of the status as text, list elements by number.
  std::string at(std::string_view path) {
    const json::value* value = nullptr;
    json::value root(status_);
    value = &root;
    std::string rest(path);
    while (value && !rest.empty()) {
      const std::string part = rest.substr(0, rest.find('.'));
      rest.erase(0, std::min(rest.size(), part.size() + 1));
      if (const json::array* list = value->if_array()) {
        const auto index = static_cast<std::size_t>(std::stoul(part));
        value = index < list->size() ? &(*list)[index] : nullptr;
      } else {
        value = api::find(*value, part);
      }
    }
    return !value               ? "absent"
           : value->is_string() ? std::string(value->get_string())
                                : api::to_json(*value);
  }
  // "True", "False Reason: message since TIME".
  std::string condition(std::string_view type) {
    for (const json::value& each : status_["conditions"].get_array()) {
      if (api::string_at(each, "type") != type) {
        continue;
      }
      std::string text(api::string_at(each, "status"));
      for (const char* key : {"reason", "message"}) {
        if (const std::string_view value = api::string_at(each, key); !value.empty()) {
          text += fmt::format(" {}", value);
        }
      }
      return text;
    }
    return "absent";
  }

  test::PodBuilder builder_ = test::pod("p").image("img");
  std::shared_ptr<const model::Pod> pod_;
  std::function<void(PodView&)> mark_ = [](PodView&) {}; ///< what probes would write into the view
  PodRecord record_;
  StatusFacts facts_;
  json::object stored_;
  json::object status_;
};

TEST_F(Status, OfAPodThatHasJustCome) {
  make();
  EXPECT_EQ(at("phase"), "Pending");
  EXPECT_EQ(at("hostIP"), "10.0.0.1");
  EXPECT_EQ(at("podIP"), "absent");
  EXPECT_EQ(at("startTime"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(at("qosClass"), "BestEffort");
  EXPECT_EQ(at("containerStatuses.0.state"), R"({"waiting":{"reason":"ContainerCreating"}})");
  EXPECT_EQ(at("containerStatuses.0.restartCount"), "0");
  EXPECT_EQ(at("containerStatuses.0.containerID"), "absent");
  EXPECT_EQ(at("containerStatuses.0.image"), "img");
  EXPECT_EQ(condition("PodReadyToStartContainers"), "False");
  EXPECT_EQ(condition("Initialized"), "True");
  EXPECT_EQ(condition("Ready"), "False ContainersNotReady containers with unready status: [main]");
  EXPECT_EQ(condition("ContainersReady"), condition("Ready"));
  EXPECT_EQ(condition("berth.dev/DevicesHealthy"), "absent");
}

TEST_F(Status, OfOneThatRuns) {
  sandbox();
  add("main", ContainerState::Running);
  make();
  EXPECT_EQ(at("phase"), "Running");
  EXPECT_EQ(at("podIP"), "100.64.0.2");
  EXPECT_EQ(at("podIPs"), R"([{"ip":"100.64.0.2"}])");
  EXPECT_EQ(at("containerStatuses.0.state"), R"({"running":{"startedAt":"2023-11-14T22:13:20Z"}})");
  EXPECT_EQ(at("containerStatuses.0.ready"), "true");
  EXPECT_EQ(at("containerStatuses.0.started"), "true");
  EXPECT_EQ(at("containerStatuses.0.lastState"), "{}");
  EXPECT_EQ(at("containerStatuses.0.containerID"), "berth://main-0");
  EXPECT_EQ(at("containerStatuses.0.imageID"), "id:main");
  EXPECT_EQ(condition("PodReadyToStartContainers"), "True");
  EXPECT_EQ(condition("Ready"), "True");
}

TEST_F(Status, OnTheHostsNetworkItsAddressIsTheHosts) {
  sandbox("");
  make();
  EXPECT_EQ(at("podIP"), "10.0.0.1");
}

TEST_F(Status, AContainerThatIsMadeAndNotStartedIsPending) {
  sandbox();
  add("main", ContainerState::Created);
  make();
  EXPECT_EQ(at("phase"), "Pending");
  EXPECT_EQ(at("containerStatuses.0.state.waiting.reason"), "ContainerCreating");
}

TEST_F(Status, OfInitContainersAndSidecars) {
  builder_.init_container("i").image("img").sidecar("log").image("img");
  sandbox();
  add("i", ContainerState::Running);
  make();
  EXPECT_EQ(at("phase"), "Pending");
  EXPECT_EQ(at("containerStatuses.0.state.waiting.reason"), "PodInitializing");
  EXPECT_EQ(at("initContainerStatuses.1.state.waiting.reason"), "PodInitializing");
  EXPECT_EQ(condition("Initialized"),
            "False ContainersNotInitialized containers with incomplete status: [i log]");
  EXPECT_EQ(condition("Ready"),
            "False ContainersNotReady containers with unready status: [log main]");
  add("i", ContainerState::Exited, 0);
  add("log", ContainerState::Running);
  add("main", ContainerState::Running);
  make();
  EXPECT_EQ(at("phase"), "Running");
  EXPECT_EQ(at("initContainerStatuses.0.ready"), "true") << "an init container that succeeded";
  EXPECT_EQ(at("initContainerStatuses.0.state.terminated.exitCode"), "0");
  EXPECT_EQ(condition("Initialized"), "True");
  EXPECT_EQ(condition("Ready"), "True");
}

TEST_F(Status, OfARestart) {
  sandbox();
  add("main", ContainerState::Exited, 3, 0);
  add("main", ContainerState::Running, 0, 1);
  make();
  EXPECT_EQ(at("phase"), "Running");
  EXPECT_EQ(at("containerStatuses.0.restartCount"), "1");
  EXPECT_EQ(at("containerStatuses.0.lastState.terminated.exitCode"), "3");
  EXPECT_EQ(at("containerStatuses.0.lastState.terminated.reason"), "Error");
  EXPECT_EQ(at("containerStatuses.0.lastState.terminated.finishedAt"), "2023-11-14T22:13:25Z");
}

TEST_F(Status, OfABackoff) {
  sandbox();
  add("main", ContainerState::Exited, 3, 1);
  facts_.waiting["main"] = {"CrashLoopBackOff", "back-off 10s"};
  make();
  EXPECT_EQ(at("phase"), "Running");
  EXPECT_EQ(at("containerStatuses.0.state"),
            R"({"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}})");
  EXPECT_EQ(at("containerStatuses.0.lastState.terminated.exitCode"), "3");
  EXPECT_EQ(at("containerStatuses.0.restartCount"), "1");
  EXPECT_EQ(at("containerStatuses.0.ready"), "false");
}

TEST_F(Status, OfOneThatNobodyReachesHasNoAddress) {
  sandbox();
  make();
  EXPECT_EQ(at("podIP"), "100.64.0.2");
  stored_ = status_;
  for (const std::string loopback : {"127.0.0.1", "::1"}) {
    sandbox(loopback);
    make();
    EXPECT_EQ(at("podIP"), "absent");
    EXPECT_EQ(at("podIPs"), "absent");
  }
}

TEST_F(Status, OfOneThatSucceeded) {
  sandbox();
  add("main", ContainerState::Exited, 0);
  facts_.final_phase = "Succeeded";
  make();
  EXPECT_EQ(at("phase"), "Succeeded");
  EXPECT_EQ(at("reason"), "absent");
  EXPECT_EQ(condition("Initialized"), "True PodCompleted");
  EXPECT_EQ(condition("Ready"), "False PodCompleted");
  EXPECT_EQ(at("containerStatuses.0.state.terminated.reason"), "Completed");
}

TEST_F(Status, OfOneThatFailedAndWhy) {
  sandbox();
  add("main", ContainerState::Exited, 1);
  facts_.final_phase = "Failed";
  facts_.verdict = {"DeadlineExceeded", "too long"};
  make();
  EXPECT_EQ(at("phase"), "Failed");
  EXPECT_EQ(at("reason"), "DeadlineExceeded");
  EXPECT_EQ(at("message"), "too long");
  EXPECT_EQ(condition("Ready"), "False PodFailed");
}

TEST_F(Status, TheEndOfAContainerWhoseSandboxWentIsShownToo) {
  sandbox();
  add("main", ContainerState::Exited, 7);
  record_.sandboxes["t"] = {.id = "t", .attempt = 1};
  facts_.final_phase = "Failed";
  make();
  EXPECT_EQ(at("containerStatuses.0.state.terminated.exitCode"), "7");
  EXPECT_EQ(at("containerStatuses.0.lastState"), "{}");
}

TEST_F(Status, WhatIsStoredOfOneThatNeverRanHereStands) {
  facts_.final_phase = "Failed";
  stored_["containerStatuses"] = json::array{json::object{{"name", "main"}, {"mine", 1}}};
  make();
  EXPECT_EQ(at("containerStatuses.0.mine"), "1");
}

TEST_F(Status, WhatOthersWroteIsKept) {
  stored_ = api::parse_json(R"({"nominatedNodeName": "n9", "reason": "old", "conditions": [
      {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]})")
                ->as_object();
  make();
  EXPECT_EQ(at("nominatedNodeName"), "n9");
  EXPECT_EQ(condition("PodScheduled"), "True");
  EXPECT_EQ(at("conditions.0.lastTransitionTime"), "2020-01-01T00:00:00Z");
  EXPECT_EQ(at("reason"), "absent") << "what the agent owns is its own";
}

TEST_F(Status, ATransitionIsOfTheStatusAlone) {
  make();
  stored_ = status_;
  facts_.now = kLater;
  make();
  EXPECT_EQ(json::value(status_), json::value(stored_)) << "nothing to write";
  sandbox();
  add("main", ContainerState::Running);
  make();
  EXPECT_EQ(condition("Ready"), "True");
  const auto time_of = [&](std::string_view type) {
    for (const json::value& each : status_["conditions"].get_array()) {
      if (api::string_at(each, "type") == type) {
        return std::string(api::string_at(each, "lastTransitionTime"));
      }
    }
    return std::string("absent");
  };
  EXPECT_EQ(time_of("Ready"), "2023-11-14T22:14:20Z");
  EXPECT_EQ(time_of("Initialized"), "2023-11-14T22:13:20Z");
}

TEST_F(Status, DevicesAndTheirHealth) {
  sandbox();
  add("main", ContainerState::Running);
  facts_.devices["main"]["nvidia.com/gpu"] = {{"g0", DeviceHealth::Healthy},
                                              {"g1", DeviceHealth::Unknown}};
  make();
  EXPECT_EQ(at("containerStatuses.0.allocatedResourcesStatus"),
            R"([{"name":"nvidia.com/gpu","resources":[{"resourceID":"g0","health":"Healthy"},)"
            R"({"resourceID":"g1","health":"Unknown"}]}])");
  EXPECT_EQ(condition("berth.dev/DevicesHealthy"), "absent") << "healthy pods look as usual";
  facts_.devices["main"]["nvidia.com/gpu"][0].second = DeviceHealth::Unhealthy;
  make();
  EXPECT_EQ(condition("berth.dev/DevicesHealthy"),
            "False DeviceUnhealthy unhealthy: nvidia.com/gpu g0 of container main");
  stored_ = status_;
  facts_.devices["main"]["nvidia.com/gpu"][0].second = DeviceHealth::Healthy;
  make();
  EXPECT_EQ(condition("berth.dev/DevicesHealthy"), "True") << "once said it is taken back";
}

TEST_F(Status, AContainerIsStartedAndReadyWhenItsProbesSaySo) {
  sandbox();
  add("main", ContainerState::Running);
  mark_ = [](PodView& view) { view.containers[0].starting = view.containers[0].unready = true; };
  make();
  EXPECT_EQ(at("containerStatuses.0.started"), "false");
  EXPECT_EQ(at("containerStatuses.0.ready"), "false");
  EXPECT_EQ(condition("Ready"), "False ContainersNotReady containers with unready status: [main]");
  EXPECT_EQ(at("phase"), "Running");
  mark_ = [](PodView& view) { view.containers[0].unready = true; };
  make();
  EXPECT_EQ(at("containerStatuses.0.started"), "true");
  EXPECT_EQ(at("containerStatuses.0.ready"), "false");
}

TEST_F(Status, AGateKeepsThePodFromReadyButNotItsContainers) {
  sandbox();
  add("main", ContainerState::Running);
  facts_.missing_gates = {"gate a is shut", "gate b is shut"};
  make();
  EXPECT_EQ(condition("ContainersReady"), "True");
  EXPECT_EQ(condition("Ready"), "False ReadinessGatesNotReady gate a is shut; gate b is shut");
}

TEST_F(Status, LastWordsAreTheMessageOfAnEnd) {
  sandbox();
  add("main", ContainerState::Exited, 1);
  facts_.messages = {{"main-0", "out of cheese"}};
  builder_.restart_policy("Never");
  make();
  EXPECT_EQ(at("containerStatuses.0.state.terminated.message"), "out of cheese");
}

} // namespace
} // namespace berth::node
