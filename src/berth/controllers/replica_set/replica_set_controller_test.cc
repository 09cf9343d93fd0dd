// Which pods are a ReplicaSet's, over the embedded registry.
#include "berth/controllers/replica_set/replica_set_controller.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

class ReplicaSets : public testing::Test {
 protected:
  ReplicaSets() : sets(plane.client, plane.loop, Rng(1)) {}

  void create(std::int64_t replicas) {
    plane.create(*api::parse_json(
        R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","namespace":)"
        R"("default"},"spec":{"replicas":)" +
        std::to_string(replicas) +
        R"(,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":)"
        R"({"app":"web"}},"spec":{"containers":[{"name":"c"}]}}}})"));
  }
  void pod(const std::string& name, const std::string& app) {
    plane.create(*api::parse_json(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                                  R"(","namespace":"default","labels":{"app":")" + app +
                                  R"("}},"spec":{"containers":[{"name":"c"}]}})"));
  }
  std::string owner_of(const std::string& name) const {
    const api::Object held = plane.find(client::kPods, {"default", name});
    return held && held.meta().controller() != nullptr ? held.meta().controller()->name : "";
  }

  test::ControlPlane plane;
  ReplicaSetController sets;
};

TEST_F(ReplicaSets, AdoptPodsThatMatch) {
  pod("mine", "web");
  pod("other", "db");
  create(2);
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(owner_of("mine"), "web");
  EXPECT_EQ(owner_of("other"), "");
  EXPECT_EQ(plane.all(client::kPods).size(), 3U) << "one was there already";
  pod("late", "web");
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(plane.all(client::kPods).size(), 3U) << "adopted, and one too many";
  EXPECT_TRUE(sets.idle());
}

TEST_F(ReplicaSets, ReleasePodsThatMatchNoMore) {
  create(1);
  plane.run_for(Duration::minutes(1));
  const std::string first = plane.names(client::kPods).front();
  plane.patch(client::kPods, {"default", first},
              *api::parse_json(R"({"metadata":{"labels":{"app":"debug"}}})"));
  plane.run_for(Duration::minutes(1));
  EXPECT_EQ(owner_of(first), "");
  EXPECT_EQ(plane.all(client::kPods).size(), 2U);
}

TEST(ReplicationControllers, KeepTheirPods) {
  test::ControlPlane plane;
  const ReplicaSetController kept(plane.client, plane.loop, Rng(1), kReplicationControllers);
  plane.create(*api::parse_json(
      R"({"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"old","namespace":)"
      R"("default"},"spec":{"replicas":2,"selector":{"app":"old"},"template":{"metadata":{)"
      R"("labels":{"app":"old"}},"spec":{"containers":[{"name":"c","image":"x"}]}}}})"));
  plane.run_for(Duration::minutes(1));
  const auto pods = plane.all(client::kPods);
  ASSERT_EQ(pods.size(), 2U);
  ASSERT_NE(pods.front().meta().controller(), nullptr);
  EXPECT_EQ(pods.front().meta().controller()->kind, "ReplicationController");
  const api::Object stored = plane.find(kReplicationControllers, {"default", "old"});
  EXPECT_EQ(api::find_path(stored.json(), "status.replicas")->as_int64(), 2);
}

} // namespace
} // namespace berth::controllers
