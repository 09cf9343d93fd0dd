#include "berth/sched/plugins/volume_zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/storage_event.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::claim;
using test::ClaimBuilder;
using test::node;
using test::NodeBuilder;
using test::pod;
using test::profile_of;
using test::SchedulingWorld;
using test::storage_class;
using test::volume;
using test::VolumeBuilder;
using testing::ElementsAre;
using testing::Pair;

const char* const kPlugin = "VolumeZone";
const char* const kZone = "topology.kubernetes.io/zone";
const char* const kRegion = "topology.kubernetes.io/region";
const char* const kBetaZone = "failure-domain.beta.kubernetes.io/zone";
const char* const kBetaRegion = "failure-domain.beta.kubernetes.io/region";
const char* const kNoZone = "UnschedulableAndUnresolvable: node(s) had no available volume zone";

struct ZoneCase {
  std::string name;
  VolumeBuilder volume;
  NodeBuilder node;
  std::string want;
};
void PrintTo(const ZoneCase& c, std::ostream* out) {
  *out << c.name;
}
class Zones : public testing::TestWithParam<ZoneCase> {};

TEST_P(Zones, MustMatch) {
  const ZoneCase& c = GetParam();
  SchedulingWorld world(profile_of(kPlugin));
  world.with(c.node).with(c.volume).with(claim("c").bound_to("v"));
  EXPECT_THAT(world.verdicts(pod("p").claim("c")), ElementsAre(Pair("n", c.want)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, Zones,
    testing::Values(
        ZoneCase{"NoLabels", volume("v"), node("n").label(kZone, "a"), "ok"},
        ZoneCase{"SameZone", volume("v").label(kZone, "a"), node("n").label(kZone, "a"), "ok"},
        ZoneCase{"OtherZone", volume("v").label(kZone, "b"), node("n").label(kZone, "a"), kNoZone},
        ZoneCase{"NodeWithoutZones", volume("v").label(kZone, "b"), node("n"), "ok"},
        ZoneCase{"NodeWithRegionOnly", volume("v").label(kZone, "b"), node("n").label(kRegion, "r"),
                 kNoZone},
        ZoneCase{"OneOfSeveral", volume("v").label(kZone, "a__b"), node("n").label(kZone, "b"),
                 "ok"},
        ZoneCase{"NoneOfSeveral", volume("v").label(kZone, "a__b"), node("n").label(kZone, "c"),
                 kNoZone},
        ZoneCase{"BrokenListIsIgnored", volume("v").label(kZone, "a____b"),
                 node("n").label(kZone, "c"), "ok"},
        ZoneCase{"OtherRegion", volume("v").label(kZone, "a").label(kRegion, "r"),
                 node("n").label(kZone, "a").label(kRegion, "s"), kNoZone},
        ZoneCase{"BetaVolumeStableNode", volume("v").label(kBetaZone, "a"),
                 node("n").label(kZone, "a"), "ok"},
        ZoneCase{"BetaVolumeOtherStableNode", volume("v").label(kBetaRegion, "r"),
                 node("n").label(kRegion, "s"), kNoZone},
        ZoneCase{"BetaVolumeBetaNode", volume("v").label(kBetaZone, "a"),
                 node("n").label(kBetaZone, "a"), "ok"},
        ZoneCase{"StableVolumeBetaNode", volume("v").label(kZone, "a"),
                 node("n").label(kBetaZone, "a"), kNoZone}),
    [](const auto& each) { return each.param.name; });

struct ClaimCase {
  std::string name;
  ClaimBuilder claim;
  std::string want; // the verdict of the only node
};
void PrintTo(const ClaimCase& c, std::ostream* out) {
  *out << c.name;
}
class ZoneClaims : public testing::TestWithParam<ClaimCase> {};

TEST_P(ZoneClaims, AreJudgedBeforeNodes) {
  const ClaimCase& c = GetParam();
  SchedulingWorld world(profile_of(kPlugin));
  world.with(node("n").label(kZone, "a")).with(c.claim);
  world.with(storage_class("waits").waits()).with(storage_class("now"));
  EXPECT_THAT(world.verdicts(pod("p").claim("c")), ElementsAre(Pair("n", c.want)));
}

const std::string kRejected = "UnschedulableAndUnresolvable: ";
INSTANTIATE_TEST_SUITE_P(
    Table, ZoneClaims,
    testing::Values(
        ClaimCase{"Missing", claim("other"), kRejected + "persistentvolumeclaim \"c\" not found"},
        ClaimCase{"VolumeMissing", claim("c").bound_to("v"),
                  kRejected + "persistentvolume \"v\" not found"},
        ClaimCase{"NoVolumeNoClass", claim("c"),
                  kRejected + "PersistentVolumeClaim had no pv name and storageClass name"},
        ClaimCase{"ClassMissing", claim("c").of_class("x"),
                  kRejected + "storageclass.storage.k8s.io \"x\" not found"},
        ClaimCase{"UnboundImmediate", claim("c").of_class("now"),
                  kRejected + "PersistentVolume had no name"},
        ClaimCase{"UnboundWaiting", claim("c").of_class("waits"), "ok"}),
    [](const auto& each) { return each.param.name; });

TEST(VolumeZone, IsWokenByItsClaimsZonesAndClasses) {
  SchedulingWorld world(profile_of(kPlugin));
  const auto waiting = world.describe(pod("p").claim("c").ephemeral("e"));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint(kPlugin, *waiting, event);
  };
  EXPECT_EQ(hint(storage_changed(nullptr, storage_class("s").waits().build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(nullptr, storage_class("s").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("c").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(claim("c").build(), claim("c").bound_to("v").build())),
            Hint::Queue);
  EXPECT_EQ(hint(storage_changed(claim("c").build(), nullptr)), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("p-e").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("c").ns("other").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, volume("v").build())), Hint::Queue);
  const auto a = volume("v").label(kZone, "a");
  EXPECT_EQ(hint(storage_changed(a.build(), VolumeBuilder(a).label(kZone, "b").build())),
            Hint::Queue);
  EXPECT_EQ(hint(storage_changed(a.build(), VolumeBuilder(a).label("x", "y").build())), Hint::Skip);
  EXPECT_EQ(hint(node_added(node("n").build())), Hint::Queue);
  EXPECT_EQ(hint(node_updated(node("n").build(), node("n").label(kZone, "b").build())),
            Hint::Queue);
  EXPECT_EQ(hint(node_updated(node("n").build(), node("n").cpu("1").build())), Hint::Skip);
}

} // namespace
} // namespace berth::sched
