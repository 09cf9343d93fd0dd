#include "berth/model/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/builders.h"

namespace berth::model {
namespace {

using test::claim;
using test::csi_node;
using test::pod;
using test::storage_class;
using test::volume;

TEST(Claim, IsDecoded) {
  const auto c = claim("data").of_class("fast").size("2Gi").block().selects("tier", "a").build();
  EXPECT_EQ(c->key(), (api::Key{"default", "data"}));
  EXPECT_EQ(c->class_name(), "fast");
  EXPECT_EQ(c->request.value(), 2LL << 30);
  EXPECT_EQ(c->volume_mode, "Block");
  EXPECT_THAT(c->access_modes, testing::ElementsAre("ReadWriteOnce"));
  EXPECT_TRUE(c->selector && c->selector->matches({{"tier", "a"}}));
  EXPECT_FALSE(c->bound());
  EXPECT_EQ(c->selected_node(), std::nullopt);
}

TEST(Claim, IsBoundOnlyWhenBothSidesSaySo) {
  EXPECT_FALSE(claim("c").wants("pv").build()->bound());
  EXPECT_TRUE(claim("c").bound_to("pv").build()->bound());
  EXPECT_FALSE(claim("c").annotation(kBindCompletedAnnotation, "yes").build()->bound());
}

TEST(Claim, TellsNoClassFromTheEmptyOne) {
  EXPECT_EQ(claim("c").build()->storage_class, std::nullopt);
  EXPECT_EQ(claim("c").of_class("").build()->storage_class, "");
  EXPECT_EQ(
      claim("c").of_class("a").annotation(kBetaStorageClassAnnotation, "b").build()->class_name(),
      "b");
}

TEST(Claim, ErrorsNameTheField) {
  const auto bad = decode_claim(
      *api::parse_json(R"({"spec": {"resources": {"requests": {"storage": "much"}}}})"));
  ASSERT_FALSE(bad.has_value());
  EXPECT_THAT(to_string(bad.error()), testing::HasSubstr("spec.resources.requests.storage"));
}

TEST(Volume, IsDecoded) {
  const auto v =
      volume("pv").of_class("fast").size("3Gi").only_on("zone", {"a"}).csi("d", "h").build();
  EXPECT_EQ(v->class_name(), "fast");
  EXPECT_EQ(v->capacity.value(), 3LL << 30);
  EXPECT_EQ(v->volume_mode, "Filesystem");
  EXPECT_EQ(v->reclaim_policy, "Retain");
  EXPECT_EQ(v->phase, "Available");
  ASSERT_TRUE(v->csi);
  EXPECT_EQ(v->csi->driver, "d");
  EXPECT_EQ(v->csi->handle, "h");
  EXPECT_TRUE(v->reachable_from({{"zone", "a"}}));
  EXPECT_FALSE(v->reachable_from({{"zone", "b"}}));
  EXPECT_TRUE(volume("pv").build()->reachable_from({}));
}

TEST(Volume, BelongsToTheClaimItNames) {
  const auto c = claim("c").uid("u1").build();
  EXPECT_FALSE(volume("pv").build()->belongs_to(*c));
  EXPECT_TRUE(volume("pv").for_claim("c").build()->belongs_to(*c));
  EXPECT_TRUE(volume("pv").for_claim("c", "u1").build()->belongs_to(*c));
  EXPECT_FALSE(volume("pv").for_claim("c", "u0").build()->belongs_to(*c));
  EXPECT_FALSE(volume("pv").for_claim("d").build()->belongs_to(*c));
  EXPECT_FALSE(volume("pv").for_claim("c", "", "other").build()->belongs_to(*c));
}

struct MatchCase {
  std::string name;
  test::VolumeBuilder volume;
  test::ClaimBuilder claim;
  bool large = true;
  bool free = true;
};
void PrintTo(const MatchCase& c, std::ostream* out) {
  *out << c.name;
}
class VolumeMatch : public testing::TestWithParam<MatchCase> {};

TEST_P(VolumeMatch, Holds) {
  const MatchCase& c = GetParam();
  EXPECT_EQ(large_enough(*c.volume.build(), *c.claim.build()), c.large);
  EXPECT_EQ(free_for(*c.volume.build(), *c.claim.build()), c.free);
}

INSTANTIATE_TEST_SUITE_P(
    Table, VolumeMatch,
    testing::Values(
        MatchCase{"Plain", volume("v"), claim("c")},
        MatchCase{"Larger", volume("v").size("2Gi"), claim("c")},
        MatchCase{"TooSmall", volume("v"), claim("c").size("1025Mi"), false, true},
        MatchCase{"BlockWanted", volume("v"), claim("c").block(), false, true},
        MatchCase{"BlockOffered", volume("v").block(), claim("c"), false, true},
        MatchCase{"BothBlock", volume("v").block(), claim("c").block()},
        MatchCase{"Reserved", volume("v").for_claim("c"), claim("c"), true, false},
        MatchCase{"NotAvailableYet", volume("v").phase("Pending"), claim("c"), true, false},
        MatchCase{"Released", volume("v").phase("Released"), claim("c"), true, false},
        MatchCase{"OtherClass", volume("v").of_class("a"), claim("c").of_class("b"), true, false},
        MatchCase{"SameClass", volume("v").of_class("a"), claim("c").of_class("a")},
        MatchCase{"NoModeInCommon", volume("v").mode("ReadOnlyMany"), claim("c"), true, false},
        MatchCase{"Selected", volume("v").label("k", "a"), claim("c").selects("k", "a")},
        MatchCase{"NotSelected", volume("v").label("k", "b"), claim("c").selects("k", "a"), true,
                  false}),
    [](const auto& each) { return each.param.name; });

TEST(StorageClass, AllowsNodesOfAnyTerm) {
  EXPECT_TRUE(storage_class("s").build()->allows({}));
  const auto s = storage_class("s").allows("zone", {"a", "b"}).allows("rack", {"1"}).build();
  EXPECT_TRUE(s->allows({{"zone", "b"}}));
  EXPECT_TRUE(s->allows({{"zone", "c"}, {"rack", "1"}}));
  EXPECT_FALSE(s->allows({{"zone", "c"}}));
  EXPECT_FALSE(s->allows({}));
}

TEST(StorageClass, SaysHowItBindsAndProvisions) {
  EXPECT_FALSE(storage_class("s").build()->waits_for_consumer());
  EXPECT_TRUE(storage_class("s").waits().build()->waits_for_consumer());
  EXPECT_TRUE(storage_class("s").build()->provisions());
  EXPECT_FALSE(storage_class("s").provisioner(kNoProvisioner).build()->provisions());
  EXPECT_FALSE(storage_class("s").build()->is_default());
  EXPECT_TRUE(storage_class("s").is_default().build()->is_default());
}

TEST(CsiNode, KnowsLimitsAndMigratedPlugins) {
  const auto n = csi_node("n").limit("a", 2).unlimited("b").migrates("x,y").build();
  ASSERT_EQ(n->drivers.size(), 2U);
  EXPECT_EQ(n->drivers[0].allocatable, 2);
  EXPECT_EQ(n->drivers[1].allocatable, std::nullopt);
  EXPECT_TRUE(n->migrates("kubernetes.io/gce-pd"));
  EXPECT_FALSE(n->migrates("kubernetes.io/portworx-volume"));
  EXPECT_TRUE(csi_node("n")
                  .migrates("x,kubernetes.io/portworx-volume")
                  .build()
                  ->migrates("kubernetes.io/portworx-volume"));
  EXPECT_FALSE(n->migrates("x"));
}

TEST(InTreeDisk, HasTheHandleOfItsCsiDriver) {
  const auto disk = [](DiskKind kind, std::string_view id) {
    return InTreeDisk{.kind = kind, .id = std::string(id), .monitors = {}, .pool = {}};
  };
  EXPECT_EQ(csi_volume_handle(disk(DiskKind::AwsElasticBlockStore, "aws://us/vol-1"), ""), "vol-1");
  EXPECT_EQ(csi_volume_handle(disk(DiskKind::AwsElasticBlockStore, "vol-1"), ""), "vol-1");
  EXPECT_EQ(csi_volume_handle(disk(DiskKind::GcePersistentDisk, "d"), ""),
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
  EXPECT_EQ(csi_volume_handle(disk(DiskKind::GcePersistentDisk, "d"), "us-a"),
            "projects/UNSPECIFIED/zones/us-a/disks/d");
  EXPECT_EQ(csi_volume_handle(disk(DiskKind::GcePersistentDisk, "d"), "us-a__us-b"),
            "projects/UNSPECIFIED/regions/us/disks/d");
  EXPECT_EQ(csi_driver_of(in_tree_plugin(DiskKind::Cinder)), "cinder.csi.openstack.org");
  EXPECT_EQ(csi_driver_of("kubernetes.io/iscsi"), "");
}

TEST(PodVolumes, AreClaimsAndDisksOnly) {
  const auto p = pod("p")
                     .volume("tmp", "emptyDir", {})
                     .claim("data")
                     .ephemeral("scratch")
                     .volume("disk", "gcePersistentDisk", {{"pdName", "d"}, {"readOnly", true}})
                     .volume("ceph", "rbd", {{"image", "i"}, {"monitors", {"m1", "m2"}}})
                     .build();
  const auto& volumes = p->spec.volumes;
  ASSERT_EQ(volumes.size(), 4U);
  EXPECT_EQ(volumes[0].claim, "data");
  EXPECT_FALSE(volumes[0].ephemeral);
  EXPECT_EQ(volumes[1].claim, "p-scratch");
  EXPECT_TRUE(volumes[1].ephemeral);
  ASSERT_TRUE(volumes[2].disk);
  EXPECT_EQ(volumes[2].disk->id, "d");
  EXPECT_TRUE(volumes[2].disk->read_only);
  ASSERT_TRUE(volumes[3].disk);
  EXPECT_EQ(volumes[3].disk->pool, "rbd");
  EXPECT_THAT(volumes[3].disk->monitors, testing::ElementsAre("m1", "m2"));
  EXPECT_TRUE(p->uses_claim("default", "data"));
  EXPECT_TRUE(p->uses_claim("default", "p-scratch"));
  EXPECT_FALSE(p->uses_claim("other", "data"));
  EXPECT_FALSE(p->uses_claim("default", ""));
}

} // namespace
} // namespace berth::model
