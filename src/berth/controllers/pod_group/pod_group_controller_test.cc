#include "berth/controllers/pod_group/pod_group_controller.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/faulty_client.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

class PodGroupControllerTest : public testing::Test {
 protected:
  PodGroupControllerTest() : line(plane.client, plane.loop, Rng(1), {}) { restart(); }

  void restart() { controller = std::make_unique<PodGroupController>(line, plane.loop); }
  void phase(const std::string& pod, std::string_view phase) {
    plane.patch_status(client::kPods, {"default", pod}, json::object{{"phase", phase}});
    ASSERT_TRUE(plane.settle());
  }
  std::string at(std::string_view path, const std::string& ns = "default") const {
    const api::Object group = plane.find(client::kPodGroups, {ns, "g"});
    const json::value* value = api::find_path(group.json(), path);
    return value == nullptr ? "" : api::to_json(*value);
  }

  test::ControlPlane plane;
  client::FaultyClient line;
  std::unique_ptr<PodGroupController> controller;
};

TEST_F(PodGroupControllerTest, FollowsAGangToItsEnd) {
  plane.create(test::pod_group("g", 2));
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(at("status.phase"), R"("Pending")");
  const api::Object job = plane.create(test::job("train"));
  plane.create(test::pod("a").in_group("g").owned_by(job));
  plane.create(test::pod("b").in_group("g").owned_by(job));
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(at("status.phase"), R"("Scheduling")");
  EXPECT_EQ(at("status.occupiedBy"), R"("default/train")");
  EXPECT_EQ(at("status.scheduleStartTime"), R"("2023-11-14T22:13:20Z")");
  phase("a", "Running");
  phase("b", "Running");
  EXPECT_EQ(at("status.phase"), R"("Running")");
  EXPECT_EQ(at("status.running"), "2");
  phase("a", "Succeeded");
  phase("b", "Succeeded");
  EXPECT_EQ(at("status.phase"), R"("Finished")");
  EXPECT_EQ(at("status.succeeded"), "2");
  EXPECT_EQ(at("status.running"), "") << "zero is left out";
  EXPECT_TRUE(controller->idle());
}

TEST_F(PodGroupControllerTest, EqualNamesInOtherNamespacesDoNotMix) {
  plane.create(json::value(json::object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", "other"}}}}));
  plane.create(test::pod_group("g", 1));
  plane.create(test::pod_group("g", 1).ns("other"));
  plane.create(test::pod("a").in_group("g").ns("other"));
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(at("status.phase"), R"("Pending")");
  EXPECT_EQ(at("status.phase", "other"), R"("Scheduling")");
}

TEST_F(PodGroupControllerTest, AMemberThatChangesItsGroupIsCountedOnce) {
  plane.create(test::pod_group("g", 1));
  plane.create(test::pod_group("h", 1));
  plane.create(test::pod("a").in_group("g"));
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(at("status.phase"), R"("Scheduling")");
  plane.patch(
      client::kPods, {"default", "a"},
      json::object{
          {"metadata",
           json::object{{"labels", json::object{{std::string(model::kPodGroupLabel), "h"}}}}}});
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(at("status.phase"), R"("Pending")");
  EXPECT_EQ(at("status.scheduleStartTime"), "");
}

TEST_F(PodGroupControllerTest, GroupsAndPodsOlderThanTheControllerCount) {
  controller.reset();
  plane.create(test::pod_group("g", 1));
  plane.create(test::pod("a").in_group("g"));
  plane.run_for(Duration::hours(1));
  restart();
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(at("status.phase"), R"("Scheduling")");
}

TEST_F(PodGroupControllerTest, AStatusThatIsTrueIsNotWrittenAgain) {
  plane.create(test::pod_group("g", 1));
  plane.create(test::pod("a").in_group("g"));
  ASSERT_TRUE(plane.settle());
  const auto version = plane.find(client::kPodGroups, {"default", "g"}).meta().resource_version;
  restart();
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(plane.find(client::kPodGroups, {"default", "g"}).meta().resource_version, version);
}

TEST_F(PodGroupControllerTest, ALossyLineDelaysTheTruthOnly) {
  line.set_faults({.longest_delay = Duration::millis(500),
                   .conflict_permille = 300,
                   .lost_permille = 200,
                   .unanswered_permille = 200,
                   .failed_read_permille = 200});
  plane.create(test::pod_group("g", 3));
  for (const char* name : {"a", "b", "c"}) {
    plane.create(test::pod(name).in_group("g"));
    plane.run_for(Duration::millis(100));
  }
  for (const char* name : {"a", "b", "c"}) {
    plane.patch_status(client::kPods, {"default", name}, json::object{{"phase", "Running"}});
  }
  plane.run_for(Duration::minutes(10));
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(at("status.phase"), R"("Running")");
  EXPECT_EQ(at("status.running"), "3");
}

} // namespace
} // namespace berth::controllers
