#include "berth/sched/plugins/volume_restrictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/storage_event.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::claim;
using test::node;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::Pair;

const char* const kPlugin = "VolumeRestrictions";
const char* const kNoDisk = "Unschedulable: node(s) had no available disk";
const char* const kInUse =
    "Unschedulable: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
    "mode already in-use by another pod";

PodBuilder gce(std::string_view name, std::string_view disk, bool read_only = false) {
  return pod(name).volume("v", "gcePersistentDisk",
                          {{"pdName", test::text(disk)}, {"readOnly", read_only}});
}
PodBuilder ebs(std::string_view name, std::string_view disk, bool read_only = false) {
  return pod(name).volume("v", "awsElasticBlockStore",
                          {{"volumeID", test::text(disk)}, {"readOnly", read_only}});
}
PodBuilder iscsi(std::string_view name, std::string_view iqn, bool read_only = false) {
  return pod(name).volume("v", "iscsi", {{"iqn", test::text(iqn)}, {"readOnly", read_only}});
}
PodBuilder rbd(std::string_view name, boost::json::array monitors, std::string_view pool,
               std::string_view image, bool read_only = false) {
  return pod(name).volume("v", "rbd",
                          {{"monitors", std::move(monitors)},
                           {"pool", test::text(pool)},
                           {"image", test::text(image)},
                           {"readOnly", read_only}});
}

struct DiskCase {
  std::string name;
  PodBuilder there;
  PodBuilder pod;
  std::string want = kNoDisk;
};
void PrintTo(const DiskCase& c, std::ostream* out) {
  *out << c.name;
}
class Disks : public testing::TestWithParam<DiskCase> {};

TEST_P(Disks, AreSharedOrNot) {
  const DiskCase& c = GetParam();
  SchedulingWorld world(profile_of(kPlugin));
  world.with(node("busy")).with(node("empty"));
  world.with(c.there, "busy");
  EXPECT_THAT(world.verdicts(c.pod), ElementsAre(Pair("busy", c.want), Pair("empty", "ok")));
}

INSTANTIATE_TEST_SUITE_P(
    Table, Disks,
    testing::Values(
        DiskCase{"NoVolumes", gce("a", "d"), pod("p"), "ok"},
        DiskCase{"SameGceDisk", gce("a", "d"), gce("p", "d")},
        DiskCase{"OtherGceDisk", gce("a", "d"), gce("p", "e"), "ok"},
        DiskCase{"GceBothReadOnly", gce("a", "d", true), gce("p", "d", true), "ok"},
        DiskCase{"GceOneReadOnly", gce("a", "d", true), gce("p", "d")},
        DiskCase{"SameEbsVolume", ebs("a", "v"), ebs("p", "v")},
        DiskCase{"EbsBothReadOnly", ebs("a", "v", true), ebs("p", "v", true)},
        DiskCase{"OtherEbsVolume", ebs("a", "v"), ebs("p", "w"), "ok"},
        DiskCase{"SameNameOtherKind", gce("a", "d"), ebs("p", "d"), "ok"},
        DiskCase{"SameIqn", iscsi("a", "i"), iscsi("p", "i")},
        DiskCase{"IqnBothReadOnly", iscsi("a", "i", true), iscsi("p", "i", true), "ok"},
        DiskCase{"OtherIqn", iscsi("a", "i"), iscsi("p", "j"), "ok"},
        DiskCase{"SameRbdImage", rbd("a", {"m1", "m2"}, "x", "i"), rbd("p", {"m2"}, "x", "i")},
        DiskCase{"RbdOtherMonitors", rbd("a", {"m1"}, "x", "i"), rbd("p", {"m2"}, "x", "i"), "ok"},
        DiskCase{"RbdOtherPool", rbd("a", {"m"}, "x", "i"), rbd("p", {"m"}, "y", "i"), "ok"},
        DiskCase{"RbdOtherImage", rbd("a", {"m"}, "x", "i"), rbd("p", {"m"}, "x", "j"), "ok"},
        DiskCase{"RbdBothReadOnly", rbd("a", {"m"}, "x", "i", true),
                 rbd("p", {"m"}, "x", "i", true), "ok"},
        DiskCase{"AzureDisksAreNotRestricted",
                 pod("a").volume("v", "azureDisk", {{"diskURI", "d"}}),
                 pod("p").volume("v", "azureDisk", {{"diskURI", "d"}}), "ok"}),
    [](const auto& each) { return each.param.name; });

class OncePod : public testing::Test {
 protected:
  OncePod() { world.with(node("n")).with(node("m")); }
  SchedulingWorld world{profile_of(kPlugin)};
};

TEST_F(OncePod, ServesOnePodOfTheCluster) {
  world.with(claim("c").mode("ReadWriteOncePod")).with(claim("d").mode("ReadWriteOncePod"));
  EXPECT_THAT(world.verdicts(pod("p").claim("c")), ElementsAre(Pair("m", "ok"), Pair("n", "ok")));
  world.with(pod("a").claim("c"), "n");
  EXPECT_THAT(world.verdicts(pod("p").claim("c")),
              ElementsAre(Pair("m", kInUse), Pair("n", kInUse)));
  EXPECT_THAT(world.verdicts(pod("p").claim("d")), ElementsAre(Pair("m", "ok"), Pair("n", "ok")));
  world.state().remove_pod("default/a");
  EXPECT_THAT(world.verdicts(pod("p").claim("c")), ElementsAre(Pair("m", "ok"), Pair("n", "ok")));
}

TEST_F(OncePod, OtherModesAndNamespacesAreFree) {
  world.with(claim("c")).with(claim("d").mode("ReadWriteOncePod"));
  world.with(pod("a").claim("c"), "n").with(pod("b").ns("other").claim("d"), "n");
  EXPECT_THAT(world.verdicts(pod("p").claim("c").claim("d")),
              ElementsAre(Pair("m", "ok"), Pair("n", "ok")));
}

TEST_F(OncePod, AMissingClaimCannotBeJudged) {
  const char* const missing = "UnschedulableAndUnresolvable: persistentvolumeclaim \"c\" not found";
  EXPECT_THAT(world.verdicts(pod("p").claim("c")),
              ElementsAre(Pair("m", missing), Pair("n", missing)));
  // Claims made for a pod are VolumeBinding's business.
  EXPECT_THAT(world.verdicts(pod("p").ephemeral("c")),
              ElementsAre(Pair("m", "ok"), Pair("n", "ok")));
}

TEST(OncePodPreemption, EvictsTheUser) {
  SchedulingWorld world(profile_of({{.name = kPlugin, .weight = 1, .args = nullptr},
                                    {.name = "DefaultPreemption", .weight = 1, .args = nullptr}}));
  world.with(node("n")).with(claim("c").mode("ReadWriteOncePod"));
  world.with(pod("a").claim("c"), "n");
  const Decision decision = world.decide(pod("p").claim("c").priority(10));
  EXPECT_EQ(decision.nominated_node, "n");
  ASSERT_EQ(decision.victims.size(), 1U);
  EXPECT_EQ(decision.victims[0]->name(), "a");
}

TEST(VolumeRestrictions, IsWokenByWhatFreesADiskOrClaim) {
  SchedulingWorld world(profile_of(kPlugin));
  const auto waiting = world.describe(gce("p", "d").claim("c"));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint(kPlugin, *waiting, event);
  };
  const auto deleted = [&](const PodBuilder& gone) {
    return hint(assigned_pod_deleted(world.describe(gone)));
  };
  EXPECT_EQ(deleted(gce("a", "d")), Hint::Queue);
  EXPECT_EQ(deleted(gce("a", "e")), Hint::Skip);
  EXPECT_EQ(deleted(pod("a").claim("c")), Hint::Queue);
  EXPECT_EQ(deleted(pod("a").claim("x")), Hint::Skip);
  EXPECT_EQ(deleted(pod("a").ns("other").claim("c")), Hint::Skip);
  EXPECT_EQ(hint(node_added(node("n").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("c").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("x").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("c").ns("other").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(claim("c").build(), claim("c").build())), Hint::Skip);
}

} // namespace
} // namespace berth::sched
