// Budgets over the embedded registry, with ReplicaSets and a kubelet that runs what it is given.
#include "berth/controllers/disruption/disruption_controller.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/controllers/replica_set/replica_set_controller.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using test::FakeKubelet;

const api::Key kBudget{"default", "b"};

class Budgets : public testing::Test {
 protected:
  Budgets()
      : sets(plane.client, plane.loop, Rng(1)), budgets(plane.client, plane.loop, Rng(2)),
        node(plane, "n1", [](const api::Object&) {
          return FakeKubelet::Life{.runs = Duration::max(), .ends = "Failed"};
        }) {}

  void run(std::int64_t replicas) {
    plane.create(*api::parse_json(
        R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","namespace":)"
        R"("default"},"spec":{"replicas":)" +
        std::to_string(replicas) +
        R"(,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":)"
        R"({"app":"web"}},"spec":{"containers":[{"name":"c"}]}}}})"));
  }
  void budget(const std::string& sizes) {
    plane.create(*api::parse_json(
        R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b",)"
        R"("namespace":"default"},"spec":{)" +
        sizes + R"(,"selector":{"matchLabels":{"app":"web"}}}})"));
  }
  std::string status(std::string_view field) const {
    const json::value* value =
        api::find_path(plane.find(kBudgets, kBudget).json(), "status." + std::string(field));
    return value == nullptr ? "" : api::to_json(*value);
  }
  std::string counts() const {
    return status("expectedPods") + " " + status("currentHealthy") + " " +
           status("desiredHealthy") + " " + status("disruptionsAllowed");
  }
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const api::Object& event : plane.all(client::kEvents)) {
      if (api::string_at(event.json(), "involvedObject.kind") == "PodDisruptionBudget") {
        out.push_back(std::string(api::string_at(event.json(), "reason")) + ": " +
                      std::string(api::string_at(event.json(), "message")));
      }
    }
    return out;
  }

  test::ControlPlane plane;
  ReplicaSetController sets;
  DisruptionController budgets;
  FakeKubelet node;
};

TEST_F(Budgets, MinAvailableCountsWhatIsThere) {
  run(3);
  budget(R"("minAvailable":2)");
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(counts(), "3 3 2 1");
  EXPECT_EQ(status("observedGeneration"), "1");
  EXPECT_THAT(status("conditions"), testing::HasSubstr("SufficientPods"));
  EXPECT_TRUE(budgets.idle());
}

TEST_F(Budgets, PercentagesAreOfWhatOwnersWant) {
  run(3);
  budget(R"("minAvailable":"50%")");
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(counts(), "3 3 2 1");
}

TEST_F(Budgets, MaxUnavailableFollowsFailures) {
  run(4);
  budget(R"("maxUnavailable":1)");
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(counts(), "4 4 3 1");
  node.die();
  plane.remove(client::kPods, {"default", plane.names(client::kPods).front()});
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(counts(), "4 3 3 0");
  EXPECT_THAT(status("conditions"), testing::HasSubstr("InsufficientPods"));
}

TEST_F(Budgets, WithoutPodsNothingIsAllowed) {
  budget(R"("minAvailable":0)");
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(counts(), "0 0 0 0");
  EXPECT_THAT(events(), testing::ElementsAre("NoPods: No matching pods found"));
}

TEST_F(Budgets, AnEvictionThatDoesNotHappenIsGivenUp) {
  run(2);
  budget(R"("minAvailable":1)");
  plane.run_for(Duration::minutes(1));
  const std::string pod = plane.names(client::kPods).front();
  plane.patch_status(
      kBudgets, kBudget,
      json::object{{"disruptionsAllowed", 0},
                   {"disruptedPods", json::object{{pod, to_rfc3339(plane.loop.now())}}}});
  plane.run_for(Duration::seconds(90));
  EXPECT_EQ(counts(), "2 1 1 0");
  plane.run_for(Duration::seconds(60));
  EXPECT_EQ(counts(), "2 2 1 1");
  EXPECT_EQ(status("disruptedPods"), "");
  EXPECT_TRUE(budgets.idle());
}

TEST_F(Budgets, OwnersWithoutAScaleAreNamed) {
  plane.create(*api::parse_json(
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"default",)"
      R"("uid":"u"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":)"
      R"([{"name":"c"}]}}}})"));
  const api::Object job = plane.find(client::kJobs, {"default", "j"});
  plane.create(*api::parse_json(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default",)"
      R"("labels":{"app":"web"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",)"
      R"("name":"j","controller":true,"uid":")" +
      job.meta().uid + R"("}]},"spec":{"containers":[{"name":"c"}]}})"));
  budget(R"("maxUnavailable":1)");
  plane.run_for(Duration::minutes(1));
  EXPECT_THAT(status("conditions"),
              testing::HasSubstr("jobs.batch does not implement the scale subresource"));
  EXPECT_EQ(status("disruptionsAllowed"), "0");
}

TEST_F(Budgets, PodsOfNobodyAreSpokenOf) {
  plane.create(*api::parse_json(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default",)"
      R"("labels":{"app":"web"}},"spec":{"containers":[{"name":"c"}]}})"));
  budget(R"("maxUnavailable":1)");
  plane.run_for(Duration::minutes(1));
  ASSERT_THAT(events(), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(events().front(),
              testing::HasSubstr("(selector: &LabelSelector{MatchLabels:map[string]string{app: "
                                 "web,},MatchExpressions:[]LabelSelectorRequirement{},})"));
}

} // namespace
} // namespace berth::controllers
