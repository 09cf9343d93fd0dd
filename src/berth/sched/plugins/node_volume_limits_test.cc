#include "berth/sched/plugins/node_volume_limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/storage_event.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::attachment;
using test::claim;
using test::csi_node;
using test::node;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using test::storage_class;
using test::volume;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const char* const kPlugin = "NodeVolumeLimits";
const char* const kFull = "Unschedulable: node(s) exceed max volume count";

/// A node "n" whose driver "d" takes two volumes, and five bound claims c1..c5 of that driver.
class NodeVolumeLimits : public testing::Test {
 protected:
  NodeVolumeLimits() {
    world.with(node("n")).with(csi_node("n").limit("d", 2));
    for (int i = 1; i <= 5; ++i) {
      bound(fmt::format("c{}", i), "d");
    }
  }
  void bound(const std::string& name, std::string_view driver) {
    world.with(volume("v-" + name).csi(driver, "h-" + name));
    world.with(claim(name).bound_to("v-" + name));
  }
  std::string verdict(const PodBuilder& asked) { return world.verdicts(asked).at("n"); }
  SchedulingWorld world{profile_of(kPlugin)};
};

TEST_F(NodeVolumeLimits, CountsTheVolumesOfPods) {
  world.with(pod("a").claim("c1"), "n");
  EXPECT_EQ(verdict(pod("p").claim("c2")), "ok");
  EXPECT_EQ(verdict(pod("p").claim("c2").claim("c3")), kFull);
  world.with(pod("b").claim("c2"), "n");
  EXPECT_EQ(verdict(pod("p").claim("c3")), kFull);
  EXPECT_EQ(verdict(pod("p")), "ok");
}

TEST_F(NodeVolumeLimits, AVolumeCountsOnce) {
  world.with(pod("a").claim("c1"), "n").with(pod("b").claim("c1").claim("c2"), "n");
  EXPECT_EQ(verdict(pod("p").claim("c1").claim("c2")), "ok");
  EXPECT_EQ(verdict(pod("p").claim("c1").claim("c3")), kFull);
}

TEST_F(NodeVolumeLimits, EachDriverHasItsOwnCount) {
  bound("e1", "e");
  world.with(pod("a").claim("c1").claim("c2"), "n");
  EXPECT_EQ(verdict(pod("p").claim("e1")), "ok");
  world.with(csi_node("n").limit("d", 2).limit("e", 0));
  EXPECT_EQ(verdict(pod("p").claim("e1")), kFull);
  world.with(csi_node("n").limit("d", 2).unlimited("e"));
  EXPECT_EQ(verdict(pod("p").claim("e1")), "ok");
}

TEST_F(NodeVolumeLimits, WithoutACsiNodeThereIsNoLimit) {
  world.with(node("m"));
  world.with(pod("a").claim("c1").claim("c2"), "m");
  EXPECT_THAT(world.verdicts(pod("p").claim("c3").claim("c4").claim("c5")),
              ElementsAre(Pair("m", "ok"), Pair("n", kFull)));
}

TEST_F(NodeVolumeLimits, CountsWhatIsAttached) {
  world.with(attachment("d", "v-c4", "n")).with(attachment("d", "v-c5", "other"));
  EXPECT_EQ(verdict(pod("p").claim("c1").claim("c2")), kFull);
  EXPECT_EQ(verdict(pod("p").claim("c1").claim("c4")), "ok");
  world.with(pod("a").claim("c4"), "n"); // the same volume
  EXPECT_EQ(verdict(pod("p").claim("c1")), "ok");
  world.state().change_storage().remove_attachment("v-c4-n");
  world.state().remove_pod("default/a");
  EXPECT_EQ(verdict(pod("p").claim("c1").claim("c2")), "ok");
}

TEST_F(NodeVolumeLimits, UnboundClaimsCountForTheirClassesDriver) {
  world.with(storage_class("s").provisioner("d").waits());
  world.with(claim("u1").of_class("s")).with(claim("u2").of_class("s")).with(claim("none"));
  world.with(pod("a").claim("c1"), "n");
  EXPECT_EQ(verdict(pod("p").claim("u1")), "ok");
  EXPECT_EQ(verdict(pod("p").claim("u1").claim("u2")), kFull);
  EXPECT_EQ(verdict(pod("p").claim("u1").claim("none")), "ok");
  world.with(claim("u1").of_class("s").bound_to("gone")); // no such volume (yet)
  EXPECT_EQ(verdict(pod("p").claim("u1").claim("u2")), kFull);
}

TEST_F(NodeVolumeLimits, MigratedDisksCountForTheirCsiDriver) {
  const auto disk = [](std::string_view name, std::string_view id) {
    return pod(name).volume("v", "awsElasticBlockStore", {{"volumeID", test::text(id)}});
  };
  world.with(csi_node("n").limit("ebs.csi.aws.com", 1));
  world.with(disk("a", "aws://z/vol-1"), "n");
  EXPECT_EQ(verdict(disk("p", "vol-2")), kFull);
  EXPECT_EQ(verdict(disk("p", "vol-1")), "ok");
  world.with(volume("v1").source("awsElasticBlockStore", {{"volumeID", "vol-1"}}))
      .with(volume("v2").source("awsElasticBlockStore", {{"volumeID", "vol-2"}}))
      .with(claim("m1").bound_to("v1"))
      .with(claim("m2").bound_to("v2"));
  EXPECT_EQ(verdict(pod("p").claim("m1")), "ok");
  EXPECT_EQ(verdict(pod("p").claim("m2")), kFull);
  world.with(storage_class("s").provisioner("kubernetes.io/aws-ebs"))
      .with(claim("u").of_class("s"));
  EXPECT_EQ(verdict(pod("p").claim("u")), kFull);
}

TEST_F(NodeVolumeLimits, DisksThatAreNotMigratedDoNotCount) {
  const auto disk = pod("p").volume("v", "portworxVolume", {{"volumeID", "x"}});
  world.with(csi_node("n").limit("pxd.portworx.com", 0));
  EXPECT_EQ(verdict(disk), "ok");
  world.with(csi_node("n").limit("pxd.portworx.com", 0).migrates("kubernetes.io/portworx-volume"));
  EXPECT_EQ(verdict(disk), kFull);
  EXPECT_EQ(verdict(pod("p").volume("v", "iscsi", {{"iqn", "i"}})), "ok");
}

TEST_F(NodeVolumeLimits, AMissingClaimOfAPodThatIsThereDoesNotCount) {
  world.with(pod("a").claim("c1").claim("gone").claim("away"), "n");
  EXPECT_EQ(verdict(pod("p").claim("c2")), "ok");
}

TEST_F(NodeVolumeLimits, AMissingClaimOfThePodIsFinal) {
  EXPECT_EQ(verdict(pod("p").claim("gone")),
            "UnschedulableAndUnresolvable: looking up PVC default/gone: persistentvolumeclaim "
            "\"gone\" not found");
}

TEST_F(NodeVolumeLimits, AClaimMadeForAnotherPodIsAFault) {
  world.with(claim("p-e").bound_to("v-c1"));
  const Decision decision = world.decide(pod("p").uid("u").ephemeral("e"));
  EXPECT_EQ(decision.outcome, Outcome::Error);
  EXPECT_THAT(decision.message,
              HasSubstr("PVC default/p-e was not created for pod default/p (pod is not owner)"));
}

TEST_F(NodeVolumeLimits, IsWokenByWhatLowersTheCount) {
  const auto waiting = world.describe(pod("p").claim("c").ephemeral("e"));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint(kPlugin, *waiting, event);
  };
  const auto node_of = [](std::int64_t n) { return csi_node("n").limit("d", n).build(); };
  EXPECT_EQ(hint(storage_changed(nullptr, node_of(1))), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(node_of(1), node_of(2))), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(node_of(2), node_of(1))), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(node_of(2), csi_node("n").limit("e", 1).build())), Hint::Queue);
  EXPECT_EQ(hint(assigned_pod_deleted(world.describe(pod("a").claim("x")))), Hint::Queue);
  EXPECT_EQ(hint(assigned_pod_deleted(world.describe(pod("a")))), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("p-e").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("x").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(attachment("d", "v", "n").build(), nullptr)), Hint::Queue);
}

} // namespace
} // namespace berth::sched
