// StatefulSets over the embedded registry, with a kubelet that runs what it is given.
#include "berth/controllers/stateful_set/stateful_set_controller.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/controllers/gc/garbage_collector.h"
#include "berth/controllers/revision/revision.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using test::FakeKubelet;
using testing::ElementsAre;
using testing::IsEmpty;

const api::Key kWeb{"default", "web"};

class StatefulSets : public testing::Test {
 protected:
  StatefulSets()
      : sets(plane.client, plane.loop, Rng(1)), garbage(plane.client, plane.loop),
        kubelet(plane, "n1", [](const api::Object&) {
          return FakeKubelet::Life{.runs = Duration::max(), .ends = "Failed"};
        }) {}

  void create(std::int64_t replicas, const std::string& more = "") {
    plane.create(*api::parse_json(
        R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":)"
        R"("default"},"spec":{"serviceName":"peers","replicas":)" +
        std::to_string(replicas) + more +
        R"(,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":)"
        R"({"app":"web"}},"spec":{"containers":[{"name":"c","image":"one"}]}}}})"));
  }
  static constexpr const char* kClaims =
      R"(,"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":)"
      R"(["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}])";
  void set_spec(const std::string& spec) {
    plane.patch(kStatefulSets, kWeb, *api::parse_json(R"({"spec":)" + spec + "}"));
  }
  void roll_to(const std::string& image) {
    set_spec(R"({"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}})");
  }
  void pass(Duration time = Duration::minutes(2)) { plane.run_for(time); }
  std::vector<std::string> images() const {
    std::vector<std::string> found;
    for (const api::Object& pod : plane.all(client::kPods)) {
      const auto& containers = api::find_path(pod.json(), "spec.containers")->as_array();
      found.emplace_back(api::string_at(containers[0], "image"));
    }
    return found;
  }
  std::string status(std::string_view field) const {
    const json::value* found =
        api::find_path(plane.find(kStatefulSets, kWeb).json(), "status." + std::string(field));
    return found == nullptr ? "" : api::to_json(*found);
  }
  std::vector<std::string> messages() const {
    std::vector<std::string> out;
    for (const api::Object& event : plane.all(client::kEvents)) {
      out.emplace_back(api::string_at(event.json(), "message"));
    }
    return out;
  }

  test::ControlPlane plane;
  StatefulSetController sets;
  GarbageCollector garbage;
  FakeKubelet kubelet;
};

TEST_F(StatefulSets, PodsHaveNamesAndComeInOrder) {
  create(3);
  pass();
  EXPECT_THAT(plane.names(client::kPods), ElementsAre("web-0", "web-1", "web-2"));
  const api::Object last = plane.find(client::kPods, {"default", "web-2"});
  EXPECT_EQ(last.meta().labels.at("statefulset.kubernetes.io/pod-name"), "web-2");
  EXPECT_EQ(last.meta().labels.at("apps.kubernetes.io/pod-index"), "2");
  EXPECT_EQ(api::string_at(last.json(), "spec.hostname"), "web-2");
  EXPECT_EQ(api::string_at(last.json(), "spec.subdomain"), "peers");
  EXPECT_EQ(last.meta().labels.at("controller-revision-hash"),
            plane.all(kRevisions).front().meta().name);
  EXPECT_GT(*last.meta().creation_timestamp,
            *plane.find(client::kPods, {"default", "web-0"}).meta().creation_timestamp -
                Duration::seconds(1));
  EXPECT_EQ(status("readyReplicas"), "3");
  EXPECT_EQ(status("availableReplicas"), "3");
  EXPECT_EQ(status("currentReplicas"), "3");
  EXPECT_EQ(status("currentRevision"), status("updateRevision"));
  EXPECT_THAT(messages(), testing::Contains("create Pod web-0 in StatefulSet web successful"));
  EXPECT_TRUE(sets.idle());
}

TEST_F(StatefulSets, AReplicaThatDoesNotStartHoldsTheNext) {
  kubelet.die();
  create(3);
  pass();
  EXPECT_THAT(plane.names(client::kPods), ElementsAre("web-0"));
  set_spec(R"({"replicas":2})");
  kubelet.revive();
  pass();
  EXPECT_THAT(plane.names(client::kPods), ElementsAre("web-0", "web-1"));
}

TEST_F(StatefulSets, InParallelNobodyWaits) {
  kubelet.die();
  create(3, R"(,"podManagementPolicy":"Parallel","ordinals":{"start":4})");
  pass();
  EXPECT_THAT(plane.names(client::kPods), ElementsAre("web-4", "web-5", "web-6"));
}

TEST_F(StatefulSets, ANewTemplateRollsFromTheTop) {
  create(3);
  pass();
  set_spec(R"({"updateStrategy":{"rollingUpdate":{"partition":2}}})");
  roll_to("two");
  pass();
  EXPECT_THAT(images(), ElementsAre("one", "one", "two"));
  EXPECT_NE(status("currentRevision"), status("updateRevision"));
  set_spec(R"({"updateStrategy":{"rollingUpdate":{"partition":0}}})");
  pass(Duration::minutes(5));
  EXPECT_THAT(images(), testing::Each("two"));
  EXPECT_EQ(status("currentRevision"), status("updateRevision"));
  EXPECT_EQ(status("updatedReplicas"), "3");
}

TEST_F(StatefulSets, OnDeleteWaitsForTheDeletion) {
  create(2, R"(,"updateStrategy":{"type":"OnDelete"})");
  pass();
  roll_to("two");
  pass();
  EXPECT_THAT(images(), ElementsAre("one", "one"));
  plane.remove(client::kPods, {"default", "web-1"});
  pass();
  EXPECT_THAT(images(), ElementsAre("one", "two"));
}

TEST_F(StatefulSets, EveryReplicaHasItsClaimAndKeepsIt) {
  create(2, kClaims);
  pass();
  EXPECT_THAT(plane.names(client::kVolumeClaims), ElementsAre("data-web-0", "data-web-1"));
  const api::Object claim = plane.find(client::kVolumeClaims, {"default", "data-web-0"});
  EXPECT_EQ(claim.meta().labels.at("app"), "web");
  EXPECT_THAT(claim.meta().owner_references, IsEmpty());
  const api::Object pod = plane.find(client::kPods, {"default", "web-0"});
  EXPECT_THAT(api::to_json(*api::find_path(pod.json(), "spec.volumes")),
              testing::HasSubstr(R"("claimName":"data-web-0")"));
  EXPECT_THAT(messages(),
              testing::Contains("create Claim data-web-0 Pod web-0 in StatefulSet web success"));
  set_spec(R"({"replicas":1})");
  pass();
  EXPECT_EQ(plane.all(client::kVolumeClaims).size(), 2U);
  plane.remove(kStatefulSets, kWeb);
  pass();
  EXPECT_EQ(plane.all(client::kPods).size(), 0U);
  EXPECT_EQ(plane.all(client::kVolumeClaims).size(), 2U);
}

TEST_F(StatefulSets, ClaimsGoWithThePodOrTheSet) {
  create(2, std::string(kClaims) +
                R"(,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete",)"
                R"("whenScaled":"Delete"})");
  pass();
  const api::Object claim = plane.find(client::kVolumeClaims, {"default", "data-web-0"});
  ASSERT_EQ(claim.meta().owner_references.size(), 1U);
  EXPECT_EQ(claim.meta().owner_references[0].kind, "StatefulSet");
  set_spec(R"({"replicas":1})");
  pass();
  EXPECT_THAT(plane.names(client::kVolumeClaims), ElementsAre("data-web-0"));
  set_spec(R"({"replicas":2})");
  pass();
  EXPECT_EQ(plane.all(client::kVolumeClaims).size(), 2U);
  EXPECT_EQ(status("readyReplicas"), "2");
  plane.remove(kStatefulSets, kWeb);
  pass();
  EXPECT_EQ(plane.all(client::kVolumeClaims).size(), 0U);
}

TEST_F(StatefulSets, ADeletedPodComesAgainUnderItsName) {
  create(2);
  pass();
  const std::string uid = plane.find(client::kPods, {"default", "web-0"}).meta().uid;
  plane.remove(client::kPods, {"default", "web-0"});
  pass();
  ASSERT_TRUE(plane.find(client::kPods, {"default", "web-0"}));
  EXPECT_NE(plane.find(client::kPods, {"default", "web-0"}).meta().uid, uid);
  EXPECT_EQ(status("readyReplicas"), "2");
}

} // namespace
} // namespace berth::controllers
