#include "berth/controllers/volume/volume_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/model/storage.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

using test::claim;
using test::node;
using test::pod;
using test::storage_class;
using test::volume;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

boost::json::value json_of(std::string_view text) {
  return api::parse_json(text).value();
}

class VolumeControllerTest : public testing::Test {
 protected:
  void start() { controller = std::make_unique<VolumeController>(plane.client, plane.loop); }
  void settle() {
    ASSERT_TRUE(plane.settle());
    EXPECT_TRUE(controller->idle());
  }
  std::shared_ptr<const model::PersistentVolumeClaim> claim_of(const std::string& name) const {
    const auto object = plane.find(client::kVolumeClaims, {"default", name});
    return object ? *model::claim_view(object) : nullptr;
  }
  std::shared_ptr<const model::PersistentVolume> volume_of(const std::string& name) const {
    const auto object = plane.find(client::kVolumes, {"", name});
    return object ? *model::volume_view(object) : nullptr;
  }
  /// Phases are set by the controller alone: a created object has none.
  std::string phase(const std::string& name) const { return claim_of(name)->phase; }

  test::ControlPlane plane;
  std::unique_ptr<VolumeController> controller;
};

TEST_F(VolumeControllerTest, BindsAClaimToAVolumeOnBothSides) {
  start();
  plane.create(volume("v").of_class("hand").size("2Gi"));
  settle();
  EXPECT_EQ(volume_of("v")->phase, "Available");
  plane.create(claim("c").of_class("hand"));
  settle();
  EXPECT_TRUE(claim_of("c")->bound());
  EXPECT_EQ(claim_of("c")->volume_name, "v");
  EXPECT_EQ(phase("c"), "Bound");
  EXPECT_EQ(volume_of("v")->phase, "Bound");
  EXPECT_EQ(volume_of("v")->claim->uid, claim_of("c")->meta.uid);
  EXPECT_EQ(volume_of("v")->meta.annotations.at(std::string(model::kBoundByControllerAnnotation)),
            "yes");
  const auto object = plane.find(client::kVolumeClaims, {"default", "c"});
  EXPECT_EQ(api::string_at(object.json(), "status.capacity.storage"), "2Gi");
}

TEST_F(VolumeControllerTest, AClaimWaitsForItsVolume) {
  start();
  plane.create(claim("c").of_class("hand"));
  settle();
  EXPECT_EQ(phase("c"), "Pending");
  plane.create(volume("v").of_class("hand"));
  settle();
  EXPECT_EQ(phase("c"), "Bound");
}

TEST_F(VolumeControllerTest, OneVolumeGoesToOneClaim) {
  start();
  plane.create(claim("c").of_class("hand"));
  plane.create(claim("d").of_class("hand"));
  plane.create(volume("v").of_class("hand"));
  settle();
  EXPECT_THAT((std::vector{phase("c"), phase("d")}), UnorderedElementsAre("Bound", "Pending"));
}

TEST_F(VolumeControllerTest, ProvisionsForImmediateClaims) {
  start();
  plane.create(claim("c").of_class("fast").size("5Gi"));
  plane.create(storage_class("fast").allows("zone", {"a", "b"}));
  settle();
  const auto made = volume_of("pvc-" + claim_of("c")->meta.uid);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(phase("c"), "Bound");
  EXPECT_EQ(made->capacity.to_string(), "5Gi");
  EXPECT_EQ(made->reclaim_policy, "Delete");
  EXPECT_EQ(made->csi->driver, "csi.example");
  EXPECT_TRUE(made->reachable_from({{"zone", "b"}}));
  EXPECT_FALSE(made->reachable_from({{"zone", "c"}}));
}

TEST_F(VolumeControllerTest, WaitingClaimsAreProvisionedForTheirNode) {
  start();
  plane.create(node("n").label("zone", "b"));
  plane.create(storage_class("fast").waits().allows("zone", {"a", "b"}));
  plane.create(claim("c").of_class("fast"));
  settle();
  EXPECT_EQ(phase("c"), "Pending");
  EXPECT_THAT(plane.names(client::kVolumes), IsEmpty());
  plane.patch(client::kVolumeClaims, {"default", "c"}, json_of(R"({"metadata": {"annotations":
                               {"volume.kubernetes.io/selected-node": "n"}}})"));
  settle();
  EXPECT_EQ(phase("c"), "Bound");
  const auto made = volume_of("pvc-" + claim_of("c")->meta.uid);
  EXPECT_TRUE(made->reachable_from({{"zone", "b"}}));
  EXPECT_FALSE(made->reachable_from({{"zone", "a"}}));
}

TEST_F(VolumeControllerTest, ANodeThatWillNotDoIsTakenBack) {
  start();
  plane.create(node("n").label("zone", "x"));
  plane.create(storage_class("fast").waits().allows("zone", {"a"}));
  plane.create(claim("c").of_class("fast").selected("n"));
  plane.create(claim("d").of_class("fast").selected("gone"));
  settle();
  for (const char* name : {"c", "d"}) {
    EXPECT_EQ(claim_of(name)->selected_node(), std::nullopt) << name;
    EXPECT_EQ(phase(name), "Pending") << name;
  }
  EXPECT_THAT(plane.names(client::kVolumes), IsEmpty());
}

TEST_F(VolumeControllerTest, ClaimsWithoutAClassGetTheDefaultOne) {
  start();
  plane.create(claim("c"));
  plane.create(claim("none").of_class(""));
  settle();
  EXPECT_EQ(phase("c"), "Pending");
  plane.create(storage_class("fast").is_default());
  settle();
  EXPECT_EQ(claim_of("c")->storage_class, "fast");
  EXPECT_EQ(phase("c"), "Bound");
  EXPECT_EQ(claim_of("none")->storage_class, "");
  EXPECT_EQ(phase("none"), "Pending");
}

TEST_F(VolumeControllerTest, AVolumeWithoutItsClaimIsDeletedOrReleased) {
  start();
  plane.create(storage_class("fast"));
  plane.create(volume("v").of_class("hand"));
  plane.create(claim("c").of_class("fast"));
  plane.create(claim("d").of_class("hand"));
  settle();
  EXPECT_EQ(plane.names(client::kVolumes).size(), 2U);
  plane.remove(client::kVolumeClaims, {"default", "c"});
  plane.remove(client::kVolumeClaims, {"default", "d"});
  settle();
  EXPECT_THAT(plane.names(client::kVolumes), ElementsAre("v"));
  EXPECT_EQ(volume_of("v")->phase, "Released");
  plane.create(claim("d").of_class("hand"));
  settle();
  EXPECT_EQ(phase("d"), "Pending") << "a released volume is nobody's";
}

TEST_F(VolumeControllerTest, AClaimWithoutItsVolumeIsLost) {
  start();
  plane.create(volume("v").of_class("hand"));
  plane.create(claim("c").of_class("hand"));
  settle();
  plane.remove(client::kVolumes, {"", "v"});
  settle();
  EXPECT_EQ(phase("c"), "Lost");
}

TEST_F(VolumeControllerTest, MakesTheClaimsOfEphemeralVolumes) {
  start();
  plane.create(storage_class("fast"));
  const api::Object owner = plane.create(pod("p").volume("scratch", "ephemeral",
                                                         json_of(R"({"volumeClaimTemplate":
          {"metadata": {"labels": {"app": "x"}},
           "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}}}}})")
                                                             .as_object()));
  settle();
  const auto made = claim_of("p-scratch");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->meta.labels.at("app"), "x");
  ASSERT_NE(made->meta.controller(), nullptr);
  EXPECT_EQ(made->meta.controller()->uid, owner.meta().uid);
  EXPECT_EQ(made->phase, "Bound");
  plane.remove(client::kVolumeClaims, {"default", "p-scratch"});
  settle();
  EXPECT_NE(claim_of("p-scratch"), nullptr) << "the pod still needs it";
}

TEST_F(VolumeControllerTest, ASuccessorFinishesWhatWasBegun) {
  plane.create(storage_class("fast"));
  plane.create(claim("c").of_class("fast"));
  for (int steps = 0; steps < 12; ++steps) {
    start(); // each lives for a moment only
    plane.run_for(Duration::millis(1));
    controller = nullptr;
  }
  start();
  settle();
  EXPECT_EQ(phase("c"), "Bound");
  EXPECT_EQ(plane.names(client::kVolumes).size(), 1U);
}

} // namespace
} // namespace berth::controllers
