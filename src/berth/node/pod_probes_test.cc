// Probes, readiness gates and lifecycle hooks of pods on a machine that has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/furnished_machine.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

runtime::ExecResult answer(int exit_code, std::string out = "") {
  return {.exit_code = exit_code, .out = std::move(out)};
}

class Probing : public test::FurnishedMachine {
 protected:
  void SetUp() override {
    FurnishedMachine::SetUp();
    runtime->store.there["r.io/app:1"] = "id";
  }
  void make(std::string_view container, std::string_view spec = "{}") {
    auto pod = bound("p");
    with(pod, container);
    with_spec(pod, spec);
    plane.create(pod);
    run(Duration::seconds(3));
  }
  std::size_t count(std::string_view command) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        runtime->commands, [&](const auto& each) { return each.second.front() == command; }));
  }
};

TEST_F(Probing, ReadinessComesAndGoesByThresholds) {
  int exit_code = 1;
  runtime->on_exec = [&](const auto&) { return answer(exit_code, "not yet"); };
  make(R"({"readinessProbe": {"exec": {"command": ["ready"]}, "periodSeconds": 2,
                              "successThreshold": 2, "failureThreshold": 3}})");
  EXPECT_EQ(container("p", "ready"), "false");
  EXPECT_EQ(container("p", "started"), "true");
  EXPECT_EQ(condition("p", "Ready"), "False ContainersNotReady");
  EXPECT_THAT(events("p"), Contains("Unhealthy: Readiness probe failed: not yet"));
  exit_code = 0;
  run(Duration::seconds(2));
  EXPECT_EQ(container("p", "ready"), "false") << "one success is not two";
  run(Duration::seconds(3));
  EXPECT_EQ(container("p", "ready"), "true");
  EXPECT_EQ(condition("p", "Ready"), "True ");
  exit_code = 1;
  run(Duration::seconds(4));
  EXPECT_EQ(container("p", "ready"), "true") << "two failures are not three";
  run(Duration::seconds(3));
  EXPECT_EQ(container("p", "ready"), "false");
  EXPECT_EQ(container("p", "restartCount"), "0");
}

TEST_F(Probing, AContainerThatIsNotAliveIsStartedAnew) {
  int exit_code = 0;
  runtime->on_exec = [&](const auto&) { return answer(exit_code, "stuck"); };
  make(R"({"livenessProbe": {"exec": {"command": ["alive"]}, "periodSeconds": 1,
                             "failureThreshold": 2, "terminationGracePeriodSeconds": 4}})");
  EXPECT_EQ(container("p", "ready"), "true");
  exit_code = 1;
  run(Duration::seconds(3));
  EXPECT_THAT(events("p"), Contains("Unhealthy: Liveness probe failed: stuck"));
  EXPECT_THAT(events("p"),
              Contains("Killing: Container main failed liveness probe, will be restarted"));
  ASSERT_FALSE(runtime->stops.empty());
  EXPECT_EQ(runtime->stops.front().second, Duration::seconds(4)) << "the probe's own grace";
  exit_code = 0;
  run(Duration::seconds(20));
  EXPECT_EQ(container("p", "restartCount"), "1");
  EXPECT_NE(container("p", "state.running.startedAt"), "absent");
}

TEST_F(Probing, NothingElseIsAskedUntilTheContainerHasStarted) {
  bool started = false;
  runtime->on_exec = [&](const auto& command) {
    return answer(command.front() == "started" && !started ? 1 : 0);
  };
  make(R"({"startupProbe": {"exec": {"command": ["started"]}, "periodSeconds": 2,
                            "failureThreshold": 30},
           "livenessProbe": {"exec": {"command": ["alive"]}, "periodSeconds": 1},
           "readinessProbe": {"exec": {"command": ["ready"]}, "periodSeconds": 1}})");
  run(Duration::seconds(10));
  EXPECT_EQ(container("p", "started"), "false");
  EXPECT_EQ(container("p", "ready"), "false");
  EXPECT_EQ(count("alive") + count("ready"), 0u);
  started = true;
  run(Duration::seconds(4));
  EXPECT_EQ(container("p", "started"), "true");
  EXPECT_EQ(container("p", "ready"), "true");
  const std::size_t asked = count("started");
  run(Duration::seconds(10));
  EXPECT_EQ(count("started"), asked) << "it is over";
  EXPECT_GT(count("alive"), 5u);
}

TEST_F(Probing, AContainerThatNeverStartsIsEnded) {
  runtime->on_exec = [](const auto&) { return answer(1); };
  make(R"({"startupProbe": {"exec": {"command": ["started"]}, "periodSeconds": 1,
                            "failureThreshold": 3}})",
       R"({"restartPolicy": "Never"})");
  run(Duration::seconds(10));
  EXPECT_THAT(events("p"),
              Contains("Killing: Container main failed startup probe, will be restarted"));
  EXPECT_EQ(api::string_at(stored("p").json(), "status.phase"), "Failed");
}

TEST_F(Probing, TheDelayIsFromTheContainersStart) {
  make(R"({"livenessProbe": {"exec": {"command": ["alive"]}, "initialDelaySeconds": 20}})");
  run(Duration::seconds(15));
  EXPECT_EQ(count("alive"), 0u);
  run(Duration::seconds(6));
  EXPECT_EQ(count("alive"), 1u);
}

TEST_F(Probing, ACommandThatTakesTooLongIsAFailureAndOneThatCannotBeIsNone) {
  runtime->on_exec = [](const auto&) -> Result<runtime::ExecResult> {
    return fail(Code::Timeout, "deadline");
  };
  make(R"({"readinessProbe": {"exec": {"command": ["a", "b"]}, "timeoutSeconds": 2}})");
  EXPECT_THAT(events("p"),
              Contains("Unhealthy: Readiness probe failed: command \"a b\" timed out after 2s"));
  runtime->on_exec = [](const auto&) -> Result<runtime::ExecResult> {
    return fail(Code::NotFound, "no such container");
  };
  run(Duration::seconds(10));
  EXPECT_THAT(events("p"), Contains("Unhealthy: Readiness probe errored and resulted in unknown "
                                    "state: no such container"));
}

TEST_F(Probing, RequestsGoToThePodsAddress) {
  make(R"({"ports": [{"name": "web", "containerPort": 8080}],
           "readinessProbe": {"httpGet": {"port": "web", "path": "healthz"}}})");
  ASSERT_FALSE(network.asked.empty());
  const std::string ip(api::string_at(stored("p").json(), "status.podIP"));
  EXPECT_EQ(network.asked.front(), "http://" + ip + ":8080/healthz");
  EXPECT_EQ(container("p", "ready"), "true");
  network.status = 500;
  run(Duration::seconds(40));
  EXPECT_EQ(container("p", "ready"), "false");
  EXPECT_THAT(
      events("p"),
      Contains("Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 500"));
}

TEST_F(Probing, AConnectionIsEnoughForTcp) {
  network.open = false;
  make(R"({"readinessProbe": {"tcpSocket": {"host": "10.9.9.9", "port": 1234}}})");
  EXPECT_EQ(network.asked.front(), "10.9.9.9:1234");
  EXPECT_EQ(container("p", "ready"), "false");
  network.open = true;
  run(Duration::seconds(11));
  EXPECT_EQ(container("p", "ready"), "true");
}

TEST_F(Probing, APodWithNothingButLoopbackIsAskedFromInside) {
  runtime->only_loopback = true;
  make(R"({"livenessProbe": {"grpc": {"port": 9000}},
           "startupProbe": {"tcpSocket": {"port": 9001}},
           "readinessProbe": {"httpGet": {"port": 8080, "path": "/healthz"}},
           "lifecycle": {"postStart": {"httpGet": {"port": 8081, "path": "/started"}},
                         "preStop": {"httpGet": {"port": 8082, "host": "10.9.9.9"}}}})");
  EXPECT_THAT(network.asked, testing::IsSupersetOf(
                                 {"/netns/of/pod 127.0.0.1:9000 ", "/netns/of/pod 127.0.0.1:9001",
                                  "/netns/of/pod http://127.0.0.1:8080/healthz",
                                  "/netns/of/pod http://127.0.0.1:8081/started"}));
  EXPECT_EQ(container("p", "ready"), "true");
  EXPECT_EQ(api::string_at(stored("p").json(), "status.podIP"), "") << "nobody else reaches it";
  plane.remove(client::kPods, {"default", "p"});
  run(Duration::seconds(3));
  EXPECT_EQ(network.asked.back(), "http://10.9.9.9:8082/")
      << "a host that a probe names is the machine's to reach";
}

TEST_F(Probing, AGrpcServerTellsItsHealth) {
  network.health = std::string("NOT_SERVING");
  make(R"({"readinessProbe": {"grpc": {"port": 9000, "service": "readiness"}}})");
  EXPECT_THAT(network.asked.front(), testing::EndsWith(":9000 readiness"));
  EXPECT_EQ(container("p", "ready"), "false");
  EXPECT_THAT(events("p"), Contains("Unhealthy: Readiness probe failed: service unhealthy "
                                    "(responded with \"NOT_SERVING\")"));
  network.health = std::string("SERVING");
  run(Duration::seconds(11));
  EXPECT_EQ(container("p", "ready"), "true");
  network.health = fail(Code::BadRequest, "unknown service grpc.health.v1.Health");
  run(Duration::seconds(40));
  EXPECT_EQ(container("p", "ready"), "false");
  EXPECT_THAT(events("p"), Contains(HasSubstr("this server does not implement the grpc health "
                                              "protocol (grpc.health.v1.Health)")));
}

TEST_F(Probing, WhatCannotBeAskedIsTold) {
  make(R"({"livenessProbe": {"httpGet": {"port": "no-such"}}})");
  EXPECT_THAT(events("p"), Contains(HasSubstr("couldn't find port: no-such")));
  EXPECT_EQ(container("p", "restartCount"), "0");
}

TEST_F(Probing, AGateThatOthersHoldKeepsThePodFromReady) {
  make("{}", R"({"readinessGates": [{"conditionType": "example.com/gate"}]})");
  EXPECT_EQ(container("p", "ready"), "true");
  EXPECT_EQ(condition("p", "ContainersReady"), "True ");
  EXPECT_EQ(condition("p", "Ready"), "False ReadinessGatesNotReady");
  const json::value* held = api::find_path(stored("p").json(), "status.conditions");
  json::array conditions = held->get_array();
  conditions.push_back(json::object{{"type", "example.com/gate"}, {"status", "True"}});
  plane.patch_status(client::kPods, {"default", "p"},
                     json::object{{"conditions", std::move(conditions)}});
  run(Duration::seconds(2));
  EXPECT_EQ(condition("p", "Ready"), "True ");
}

TEST_F(Probing, APodWithoutProbesHasNoTimers) {
  make("{}");
  run(Duration::minutes(1));
  const std::size_t before = plane.loop.pending();
  run(Duration::minutes(10));
  EXPECT_EQ(plane.loop.pending(), before);
  EXPECT_THAT(runtime->commands, IsEmpty());
}

class Hooks : public Probing {};

TEST_F(Hooks, TheNextContainerWaitsForPostStart) {
  runtime->exec_takes = Duration::seconds(5);
  auto pod = bound("p");
  with(pod, R"({"lifecycle": {"postStart": {"exec": {"command": ["hook"]}}}})");
  pod.container("second").image("r.io/app:1");
  plane.create(pod);
  run(Duration::seconds(4));
  EXPECT_EQ(container("p", "started"), "false");
  EXPECT_THAT(runtime->containers, SizeIs(1));
  run(Duration::seconds(6));
  EXPECT_EQ(container("p", "started"), "true");
  EXPECT_THAT(runtime->containers, SizeIs(2));
}

TEST_F(Hooks, APostStartThatFailsEndsTheContainer) {
  runtime->on_exec = [](const auto&) { return answer(2, "no luck"); };
  make(R"({"lifecycle": {"postStart": {"exec": {"command": ["hook"]}}}})",
       R"({"restartPolicy": "Never"})");
  run(Duration::seconds(5));
  EXPECT_THAT(events("p"), Contains("FailedPostStartHook: PostStartHook failed: no luck"));
  EXPECT_THAT(events("p"), Contains("Killing: FailedPostStartHook"));
  EXPECT_EQ(api::string_at(stored("p").json(), "status.phase"), "Failed");
}

TEST_F(Hooks, PreStopRunsBeforeTheSignalAndOutOfTheGrace) {
  runtime->exec_takes = Duration::seconds(3);
  make(R"({"lifecycle": {"preStop": {"exec": {"command": ["drain"]}}}})",
       R"({"terminationGracePeriodSeconds": 10})");
  const TimePoint asked = plane.loop.now();
  plane.remove(client::kPods, {"default", "p"});
  run(Duration::seconds(8));
  EXPECT_EQ(count("drain"), 1u);
  ASSERT_THAT(runtime->stops, SizeIs(1));
  EXPECT_EQ((runtime->stops[0].first - asked).count_seconds(), 3);
  EXPECT_EQ(runtime->stops[0].second.count_seconds(), 7);
  EXPECT_FALSE(stored("p"));
}

TEST_F(Hooks, APreStopThatTakesTooLongIsCut) {
  runtime->exec_takes = Duration::seconds(100);
  make(R"({"lifecycle": {"preStop": {"exec": {"command": ["drain"]}}}})",
       R"({"terminationGracePeriodSeconds": 5})");
  const TimePoint asked = plane.loop.now();
  plane.remove(client::kPods, {"default", "p"});
  run(Duration::seconds(10));
  ASSERT_THAT(runtime->stops, SizeIs(1));
  EXPECT_EQ((runtime->stops[0].first - asked).count_seconds(), 5);
  EXPECT_EQ(runtime->stops[0].second, Duration::seconds(2)) << "the least that it always has";
}

TEST_F(Hooks, SleepingIsAHookOfItsOwn) {
  make(R"({"lifecycle": {"preStop": {"sleep": {"seconds": 4}}}})",
       R"({"terminationGracePeriodSeconds": 10})");
  const TimePoint asked = plane.loop.now();
  plane.remove(client::kPods, {"default", "p"});
  run(Duration::seconds(10));
  ASSERT_THAT(runtime->stops, SizeIs(1));
  EXPECT_EQ((runtime->stops[0].first - asked).count_seconds(), 4);
}

TEST_F(Hooks, APreStopThatFailsIsTold) {
  runtime->on_exec = [](const auto&) { return answer(1, "cannot"); };
  make(R"({"lifecycle": {"preStop": {"exec": {"command": ["drain"]}}}})");
  plane.remove(client::kPods, {"default", "p"});
  run(Duration::seconds(5));
  EXPECT_THAT(events("p"), Contains("FailedPreStopHook: PreStopHook failed: cannot"));
  EXPECT_FALSE(stored("p"));
}

} // namespace
} // namespace berth::node
