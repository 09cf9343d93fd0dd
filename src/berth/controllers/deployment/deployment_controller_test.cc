// Deployments and their ReplicaSets over the embedded registry, with a kubelet that runs what it is
// given.
#include "berth/controllers/deployment/deployment_controller.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/controllers/gc/garbage_collector.h"
#include "berth/controllers/replica_set/replica_set_controller.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using test::FakeKubelet;

const api::Key kWeb{"default", "web"};

class Deployments : public testing::Test {
 protected:
  Deployments()
      : sets(plane.client, plane.loop, Rng(1)), deployments(plane.client, plane.loop, Rng(2)),
        garbage(plane.client, plane.loop, GarbageCollector::default_kinds()),
        node(plane, "n1", [this](const api::Object& pod) {
          most = std::max(most, running());
          least = std::min(least, running());
          (void)pod;
          return FakeKubelet::Life{.runs = Duration::max(), .ends = "Failed"};
        }) {}

  void create(std::int64_t replicas, const std::string& strategy = "{}") {
    plane.create(*api::parse_json(
        R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},)"
        R"("spec":{"replicas":)" +
        std::to_string(replicas) + R"(,"strategy":)" + strategy +
        R"(,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},)"
        R"("spec":{"containers":[{"name":"c","image":"one"}]}}}})"));
  }
  void roll_to(const std::string& image) {
    plane.patch(
        kDeployments, kWeb,
        *api::parse_json(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" +
                         image + R"("}]}}}})"));
  }
  void pass(Duration time = Duration::minutes(2)) { plane.run_for(time); }

  std::int64_t running() const {
    std::int64_t count = 0;
    for (const api::Object& pod : plane.all(client::kPods)) {
      count +=
          api::string_at(pod.json(), "status.phase") == "Running" && !pod.meta().deletion_timestamp
              ? 1
              : 0;
    }
    return count;
  }
  std::vector<std::string> images() const {
    std::vector<std::string> found;
    for (const api::Object& pod : plane.all(client::kPods)) {
      const auto& containers = api::find_path(pod.json(), "spec.containers")->as_array();
      found.emplace_back(api::string_at(containers[0], "image"));
    }
    return found;
  }
  std::string status(std::string_view path) const {
    const json::value* found = api::find_path(plane.find(kDeployments, kWeb).json(), path);
    return found == nullptr ? "" : api::to_json(*found);
  }
  std::string condition(std::string_view type) const {
    const json::value* conditions =
        api::find_path(plane.find(kDeployments, kWeb).json(), "status.conditions");
    for (const json::value& one : conditions->as_array()) {
      if (api::string_at(one, "type") == type) {
        return std::string(api::string_at(one, "status")) + " " +
               std::string(api::string_at(one, "reason"));
      }
    }
    return "";
  }
  std::string revision() const {
    const auto annotations = plane.find(kDeployments, kWeb).meta().annotations;
    const auto found = annotations.find("deployment.kubernetes.io/revision");
    return found == annotations.end() ? "" : found->second;
  }

  test::ControlPlane plane;
  std::int64_t most = 0;
  std::int64_t least = 1'000;
  ReplicaSetController sets;
  DeploymentController deployments;
  GarbageCollector garbage;
  FakeKubelet node;
};

TEST_F(Deployments, BecomeAvailable) {
  create(3);
  pass();
  EXPECT_EQ(running(), 3);
  EXPECT_EQ(status("status.availableReplicas"), "3");
  EXPECT_EQ(status("status.observedGeneration"), "1");
  EXPECT_EQ(condition("Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(revision(), "1");
  EXPECT_TRUE(deployments.idle() && sets.idle());
}

TEST_F(Deployments, FollowTheirSize) {
  create(2);
  pass();
  plane.patch(kDeployments, kWeb, *api::parse_json(R"({"spec":{"replicas":5}})"));
  pass();
  EXPECT_EQ(running(), 5);
  plane.patch(kDeployments, kWeb, *api::parse_json(R"({"spec":{"replicas":0}})"));
  pass();
  EXPECT_EQ(plane.all(client::kPods).size(), 0U);
}

TEST_F(Deployments, RollWithoutEverServingTooLittle) {
  create(4, R"({"rollingUpdate":{"maxSurge":1,"maxUnavailable":1}})");
  pass();
  least = 1'000;
  most = 0;
  roll_to("two");
  pass(Duration::minutes(10));
  EXPECT_THAT(images(), testing::Each("two"));
  EXPECT_EQ(running(), 4);
  EXPECT_GE(least, 3);
  EXPECT_LE(most, 5);
  EXPECT_EQ(revision(), "2");
  EXPECT_EQ(plane.all(kReplicaSets).size(), 2U) << "the old set is kept for a rollback";
}

TEST_F(Deployments, RecreateEndsTheOldOnesFirst) {
  create(2, R"({"type":"Recreate"})");
  pass();
  roll_to("two");
  pass();
  EXPECT_THAT(images(), testing::ElementsAre("two", "two"));
}

TEST_F(Deployments, ARollbackUsesTheOldSetAgain) {
  create(1);
  pass();
  roll_to("two");
  pass();
  roll_to("one");
  pass();
  EXPECT_THAT(images(), testing::ElementsAre("one"));
  EXPECT_EQ(revision(), "3");
  EXPECT_EQ(plane.all(kReplicaSets).size(), 2U);
}

TEST_F(Deployments, ADeletedPodIsReplaced) {
  create(2);
  pass();
  const std::string gone = plane.names(client::kPods).front();
  plane.remove(client::kPods, {"default", gone});
  pass();
  EXPECT_EQ(running(), 2);
  EXPECT_THAT(plane.names(client::kPods), testing::Not(testing::Contains(gone)));
}

TEST_F(Deployments, ARolloutThatDoesNotMoveIsLate) {
  node.die();
  create(1);
  pass(Duration::minutes(9));
  EXPECT_EQ(condition("Progressing"), "True ReplicaSetUpdated");
  pass(Duration::minutes(3));
  EXPECT_EQ(condition("Progressing"), "False ProgressDeadlineExceeded");
  EXPECT_EQ(condition("Available"), "False MinimumReplicasUnavailable");
}

TEST_F(Deployments, TakeTheirPodsAlong) {
  create(2);
  pass();
  plane.remove(kDeployments, kWeb);
  pass();
  EXPECT_EQ(plane.all(kReplicaSets).size(), 0U);
  EXPECT_EQ(plane.all(client::kPods).size(), 0U);
}

TEST_F(Deployments, APausedOneKeepsItsPods) {
  create(2);
  pass();
  plane.patch(kDeployments, kWeb, *api::parse_json(R"({"spec":{"paused":true}})"));
  roll_to("two");
  pass();
  EXPECT_THAT(images(), testing::Each("one"));
  plane.patch(kDeployments, kWeb, *api::parse_json(R"({"spec":{"paused":false}})"));
  pass();
  EXPECT_THAT(images(), testing::Each("two"));
}

} // namespace
} // namespace berth::controllers
