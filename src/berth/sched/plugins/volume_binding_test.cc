#include "berth/sched/plugins/volume_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/storage_event.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::capacity;
using test::claim;
using test::ClaimBuilder;
using test::csi_driver;
using test::csi_node;
using test::node;
using test::pod;
using test::PodBuilder;
using test::profile_of;
using test::SchedulingWorld;
using test::storage_class;
using test::volume;
using test::VolumeBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const char* const kPlugin = "VolumeBinding";
const std::string kRejected = "UnschedulableAndUnresolvable: ";
const std::string kNoAffinity = kRejected + "node(s) didn't match PersistentVolume's node affinity";
const std::string kNothing = kRejected + "node(s) didn't find available persistent volumes to bind";
const std::string kGone =
    kRejected + "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// Nodes a and b in zones of their names. Classes: "hand" and "made" wait for their consumer, of
/// which "made" provisions; "now" binds at once.
class VolumeBinding : public testing::Test {
 protected:
  VolumeBinding() {
    world.with(node("a").label("zone", "a")).with(node("b").label("zone", "b"));
    world.with(storage_class("hand").provisioner(model::kNoProvisioner).waits())
        .with(storage_class("made").waits())
        .with(storage_class("now"));
  }
  std::map<std::string, std::string> verdicts(const PodBuilder& asked) {
    return world.verdicts(asked);
  }
  /// The plan for a pod with these claims, which must fit.
  VolumePlan plan(const PodBuilder& asked) {
    const Decision decision = world.decide(asked);
    EXPECT_TRUE(decision.placed()) << decision.message;
    return decision.volumes;
  }
  static VolumeBuilder hand(std::string_view name, std::string_view size = "1Gi") {
    return volume(name).of_class("hand").size(size);
  }
  static auto both(const std::string& verdict) {
    return ElementsAre(Pair("a", verdict), Pair("b", verdict));
  }
  SchedulingWorld world{profile_of(kPlugin)};
};

TEST_F(VolumeBinding, PodsWithoutClaimsAreNotLookedAt) {
  EXPECT_THAT(verdicts(pod("p").volume("v", "emptyDir", {})), both("ok"));
}

// ---- claims that no node can help --------------------------------------------------------------

struct ClaimCase {
  std::string name;
  ClaimBuilder claim;
  PodBuilder pod;
  std::string want;
};
void PrintTo(const ClaimCase& c, std::ostream* out) {
  *out << c.name;
}
class VolumeBindingClaims : public VolumeBinding, public testing::WithParamInterface<ClaimCase> {};

TEST_P(VolumeBindingClaims, AreJudgedBeforeNodes) {
  world.with(GetParam().claim);
  EXPECT_THAT(verdicts(GetParam().pod), both(kRejected + GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Table, VolumeBindingClaims,
    testing::Values(
        ClaimCase{"Missing", claim("x"), pod("p").claim("c"),
                  "persistentvolumeclaim \"c\" not found"},
        ClaimCase{"InAnotherNamespace", claim("c").ns("other"), pod("p").claim("c"),
                  "persistentvolumeclaim \"c\" not found"},
        ClaimCase{"NotMadeYet", claim("x"), pod("p").ephemeral("e"),
                  "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                  "\"p-e\""},
        ClaimCase{"MadeForAnother", claim("p-e"), pod("p").ephemeral("e"),
                  "PVC default/p-e was not created for pod default/p (pod is not owner)"},
        ClaimCase{"Lost", claim("c").wants("v").phase("Lost"), pod("p").claim("c"),
                  "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\""},
        ClaimCase{"BeingDeleted", claim("c").deleted(TimePoint()), pod("p").claim("c"),
                  "persistentvolumeclaim \"c\" is being deleted"},
        ClaimCase{"NoClass", claim("c"), pod("p").claim("c"),
                  "pod has unbound immediate PersistentVolumeClaims"},
        ClaimCase{"ClassMissing", claim("c").of_class("x"), pod("p").claim("c"),
                  "pod has unbound immediate PersistentVolumeClaims"},
        ClaimCase{"UnboundImmediate", claim("c").of_class("now"), pod("p").claim("c"),
                  "pod has unbound immediate PersistentVolumeClaims"},
        ClaimCase{"WantsOneVolume", claim("c").of_class("made").wants("v"), pod("p").claim("c"),
                  "pod has unbound immediate PersistentVolumeClaims"}),
    [](const auto& each) { return each.param.name; });

TEST_F(VolumeBinding, AClaimMadeForThePodIsItsOwn) {
  const auto owner = pod("p").uid("u").ephemeral("e");
  world.with(claim("p-e").of_class("made").owned_by(owner.object()));
  EXPECT_THAT(verdicts(owner), both("ok"));
}

// ---- bound claims
// --------------------------------------------------------------------------------

TEST_F(VolumeBinding, BoundClaimsGoWhereTheirVolumeIsReached) {
  world.with(volume("v").only_on("zone", {"b"})).with(claim("c").bound_to("v"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), ElementsAre(Pair("a", kNoAffinity), Pair("b", "ok")));
  EXPECT_TRUE(plan(pod("p").claim("c")).empty());
}

TEST_F(VolumeBinding, ABoundVolumeMustExist) {
  world.with(claim("c").bound_to("gone"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), both(kGone));
}

TEST_F(VolumeBinding, AllReasonsOfANodeAreSaid) {
  world.with(volume("v").only_on("zone", {"b"})).with(claim("c").bound_to("v"));
  world.with(claim("d").of_class("hand"));
  EXPECT_THAT(verdicts(pod("p").claim("c").claim("d")),
              ElementsAre(Pair("a", kNoAffinity + ", node(s) didn't find available persistent "
                                                  "volumes to bind"),
                          Pair("b", kNothing)));
}

// ---- volumes chosen with the node
// ----------------------------------------------------------------

struct ChoiceCase {
  std::string name;
  std::vector<VolumeBuilder> volumes;
  ClaimBuilder claim;
  std::string want; // the chosen volume; "": none does
};
void PrintTo(const ChoiceCase& c, std::ostream* out) {
  *out << c.name;
}
class VolumeChoice : public VolumeBinding, public testing::WithParamInterface<ChoiceCase> {
 public:
  static ClaimBuilder c() { return claim("c").uid("u").of_class("hand"); }
  static VolumeBuilder v(std::string_view name, std::string_view size = "1Gi") {
    return hand(name, size);
  }
};

TEST_P(VolumeChoice, TakesTheSmallestThatDoes) {
  for (const VolumeBuilder& each : GetParam().volumes) {
    world.with(each);
  }
  world.with(GetParam().claim);
  if (GetParam().want.empty()) {
    EXPECT_THAT(verdicts(pod("p").claim("c")), both(kNothing));
    return;
  }
  const VolumePlan chosen = plan(pod("p").claim("c"));
  ASSERT_EQ(chosen.bindings.size(), 1U);
  EXPECT_EQ(chosen.bindings[0].volume, GetParam().want);
  EXPECT_EQ(chosen.bindings[0].claim, (api::Key{"default", "c"}));
  EXPECT_EQ(chosen.bindings[0].claim_uid, "u");
  EXPECT_THAT(chosen.provisions, IsEmpty());
}

using Choice = VolumeChoice;
INSTANTIATE_TEST_SUITE_P(
    Table, VolumeChoice,
    testing::Values(
        ChoiceCase{"Only", {Choice::v("v")}, Choice::c(), "v"},
        ChoiceCase{"Smallest", {Choice::v("w", "3Gi"), Choice::v("x", "2Gi")}, Choice::c(), "x"},
        ChoiceCase{"FirstOfEqual", {Choice::v("y"), Choice::v("x")}, Choice::c(), "x"},
        ChoiceCase{"TooSmall", {Choice::v("v", "1Mi")}, Choice::c(), ""},
        ChoiceCase{"OtherClass", {volume("v").of_class("now")}, Choice::c(), ""},
        ChoiceCase{"OtherMode", {Choice::v("v").mode("ReadOnlyMany")}, Choice::c(), ""},
        ChoiceCase{"BlockDevice", {Choice::v("v").block()}, Choice::c(), ""},
        ChoiceCase{"NotAvailable", {Choice::v("v").phase("Released")}, Choice::c(), ""},
        ChoiceCase{"Deleted", {Choice::v("v").deleted(TimePoint())}, Choice::c(), ""},
        ChoiceCase{"OfAnotherClaim", {Choice::v("v").for_claim("d")}, Choice::c(), ""},
        ChoiceCase{"OfAnEarlierClaim", {Choice::v("v").for_claim("c", "old")}, Choice::c(), ""},
        ChoiceCase{"ReservedByName",
                   {Choice::v("a"), Choice::v("v", "9Gi").for_claim("c").phase("Pending")},
                   Choice::c(),
                   "v"},
        ChoiceCase{"NotSelected", {Choice::v("v")}, Choice::c().selects("k", "x"), ""},
        ChoiceCase{"Selected",
                   {Choice::v("v"), Choice::v("w").label("k", "x")},
                   Choice::c().selects("k", "x"),
                   "w"}),
    [](const auto& each) { return each.param.name; });

TEST_F(VolumeBinding, AFreeVolumeMustBeReachedFromTheNode) {
  world.with(hand("v").only_on("zone", {"b"})).with(hand("w", "2Gi").only_on("zone", {"b"}));
  world.with(claim("c").of_class("hand"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), ElementsAre(Pair("a", kNothing), Pair("b", "ok")));
  EXPECT_EQ(plan(pod("p").claim("c")).bindings.at(0).volume, "v");
}

TEST_F(VolumeBinding, AReservedVolumeThatIsNotReachedEndsTheSearch) {
  world.with(hand("v").only_on("zone", {"b"}).for_claim("c")).with(hand("w"));
  world.with(claim("c").of_class("hand"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), ElementsAre(Pair("a", kNothing), Pair("b", "ok")));
}

TEST_F(VolumeBinding, SmallClaimsChooseFirst) {
  world.with(hand("v", "1Gi")).with(hand("w", "2Gi"));
  world.with(claim("big").of_class("hand").size("2Gi")).with(claim("small").of_class("hand"));
  const VolumePlan chosen = plan(pod("p").claim("big").claim("small"));
  ASSERT_EQ(chosen.bindings.size(), 2U);
  EXPECT_EQ(chosen.bindings[0].claim.name, "small");
  EXPECT_EQ(chosen.bindings[0].volume, "v");
  EXPECT_EQ(chosen.bindings[1].claim.name, "big");
  EXPECT_EQ(chosen.bindings[1].volume, "w");
}

TEST_F(VolumeBinding, OneVolumeServesOneClaim) {
  world.with(hand("v")).with(claim("c").of_class("hand")).with(claim("d").of_class("hand"));
  EXPECT_THAT(verdicts(pod("p").claim("c").claim("d")), both(kNothing));
  EXPECT_THAT(verdicts(pod("p").claim("c").claim("c")), both("ok"));
}

// ---- volumes made for the node
// -------------------------------------------------------------------

TEST_F(VolumeBinding, WithoutAVolumeOneIsProvisioned) {
  world.with(claim("c").of_class("made"));
  const VolumePlan chosen = plan(pod("p").claim("c"));
  EXPECT_THAT(chosen.bindings, IsEmpty());
  ASSERT_EQ(chosen.provisions.size(), 1U);
  EXPECT_EQ(chosen.provisions[0].claim, (api::Key{"default", "c"}));
}

TEST_F(VolumeBinding, AFreeVolumeGoesBeforeANewOne) {
  world.with(volume("v").of_class("made")).with(claim("c").of_class("made"));
  world.with(claim("d").of_class("made"));
  const VolumePlan chosen = plan(pod("p").claim("c").claim("d"));
  EXPECT_EQ(chosen.bindings.size(), 1U);
  EXPECT_EQ(chosen.provisions.size(), 1U);
}

TEST_F(VolumeBinding, TheClassMustAllowTheNode) {
  world.with(storage_class("made").waits().allows("zone", {"b", "c"}));
  world.with(claim("c").of_class("made"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), ElementsAre(Pair("a", kNothing), Pair("b", "ok")));
}

TEST_F(VolumeBinding, AClaimThatHasItsNodeStaysThere) {
  world.with(claim("c").of_class("made").selected("b")).with(volume("v").of_class("made"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), ElementsAre(Pair("a", kNothing), Pair("b", "ok")));
  // It is being provisioned: no other volume is taken for it.
  EXPECT_EQ(plan(pod("p").claim("c")).provisions.size(), 1U);
}

TEST_F(VolumeBinding, ADriverThatTellsMustHaveRoom) {
  const std::string no_space = kRejected + "node(s) did not have enough free storage";
  world.with(claim("c").of_class("made").size("2Gi"));
  world.with(csi_driver("other"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), both("ok"));
  world.with(csi_driver("csi.example"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), both(no_space));
  world.with(capacity("small", "made").at("zone", "a").size("1Gi"))
      .with(capacity("class", "now").at("zone", "a").size("9Gi"))
      .with(capacity("nowhere", "made").size("9Gi"))
      .with(capacity("unknown", "made").at("zone", "a"))
      .with(capacity("parts", "made").at("zone", "a").size("9Gi").largest("1Gi"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), both(no_space));
  world.with(capacity("enough", "made").at("zone", "b").size("2Gi"));
  EXPECT_THAT(verdicts(pod("p").claim("c")), ElementsAre(Pair("a", no_space), Pair("b", "ok")));
  // A volume that is there needs no room.
  world.with(volume("v").of_class("made").size("2Gi").only_on("zone", {"a"}));
  EXPECT_THAT(verdicts(pod("p").claim("c")), both("ok"));
  world.state().change_storage().remove_volume("v");
  world.with(csi_driver("csi.example").silent());
  EXPECT_THAT(verdicts(pod("p").claim("c")), both("ok"));
}

// ---- what is assumed
// -----------------------------------------------------------------------------

TEST_F(VolumeBinding, WhatWasChosenIsTakenUntilThePodLosesItsNode) {
  world.with(hand("v")).with(claim("c").of_class("hand")).with(claim("d").of_class("hand"));
  const std::string before = world.state().dump();
  const Decision first = world.decide(pod("p").claim("c"));
  ASSERT_TRUE(first.placed());
  EXPECT_EQ(world.state().storage().volume("v")->claim->name, "c");
  EXPECT_THAT(verdicts(pod("q").claim("d")), both(kNothing));
  // Another pod of the same claim gets the same volume.
  EXPECT_EQ(plan(pod("r").claim("c")).bindings.at(0).volume, "v");
  undo_decision(world.framework(), world.state(), world.describe(pod("r").claim("c")), first.node);
  EXPECT_THAT(verdicts(pod("q").claim("d")), both(kNothing));
  undo_decision(world.framework(), world.state(), world.describe(pod("p").claim("c")), first.node);
  EXPECT_EQ(world.state().dump(), before);
  EXPECT_THAT(verdicts(pod("q").claim("d")), both("ok"));
}

TEST_F(VolumeBinding, AClaimBeingProvisionedKeepsOtherPodsOnItsNode) {
  world.with(claim("c").of_class("made"));
  ASSERT_EQ(world.decide(pod("p").claim("c")).node_name, "a");
  EXPECT_THAT(verdicts(pod("q").claim("c")), ElementsAre(Pair("a", "ok"), Pair("b", kNothing)));
}

TEST_F(VolumeBinding, NewsFromTheApiEndsWhatWasAssumed) {
  world.with(claim("c").of_class("made"));
  ASSERT_EQ(world.decide(pod("p").claim("c")).node_name, "a");
  world.with(claim("c").of_class("made").selected("b"));
  EXPECT_THAT(verdicts(pod("q").claim("c")), ElementsAre(Pair("a", kNothing), Pair("b", "ok")));
  world.state().forget("default/p");
  EXPECT_THAT(verdicts(pod("q").claim("c")), ElementsAre(Pair("a", kNothing), Pair("b", "ok")));
}

TEST_F(VolumeBinding, AssumptionsEndWhenThePodIsSeenBound) {
  world.with(claim("c").of_class("made"));
  ASSERT_TRUE(world.decide(pod("p").claim("c")).placed());
  world.with(pod("p").claim("c"), "a");
  EXPECT_EQ(world.state().storage().claim({"default", "c"})->selected_node(), std::nullopt);
}

// ---- events
// --------------------------------------------------------------------------------------

TEST_F(VolumeBinding, IsWokenByItsClaimsAndByVolumesClassesAndNodes) {
  const auto waiting = world.describe(pod("p").claim("c").ephemeral("e"));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint(kPlugin, *waiting, event);
  };
  EXPECT_EQ(hint(storage_changed(nullptr, claim("c").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(claim("c").build(), claim("c").bound_to("v").build())),
            Hint::Queue);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("p-e").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("x").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, claim("c").ns("other").build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(claim("c").build(), nullptr)), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, volume("v").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(volume("v").build(), volume("v").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(volume("v").build(), nullptr)), Hint::Skip);
  const auto made = storage_class("made");
  EXPECT_EQ(hint(storage_changed(nullptr, made.build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(made.build(), made.build())), Hint::Skip);
  EXPECT_EQ(
      hint(storage_changed(storage_class("made").allows("zone", {"x"}).build(), made.build())),
      Hint::Queue);
  EXPECT_EQ(hint(storage_changed(nullptr, csi_node("n").build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(csi_node("n").build(), csi_node("n").limit("d", 1).build())),
            Hint::Skip);
  EXPECT_EQ(hint(storage_changed(csi_node("n").build(), csi_node("n").migrates("x").build())),
            Hint::Queue);
  const auto driver = csi_driver("d");
  EXPECT_EQ(hint(storage_changed(driver.build(), csi_driver("d").silent().build())), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(driver.build(), driver.build())), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(nullptr, driver.build())), Hint::Skip);
  const auto room = [](std::string_view size) { return capacity("x", "made").size(size).build(); };
  EXPECT_EQ(hint(storage_changed(nullptr, room("1Gi"))), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(room("1Gi"), room("2Gi"))), Hint::Queue);
  EXPECT_EQ(hint(storage_changed(room("2Gi"), room("1Gi"))), Hint::Skip);
  EXPECT_EQ(hint(storage_changed(capacity("x", "made").build(), room("1Gi"))), Hint::Queue);
  EXPECT_EQ(hint(node_added(node("n").build())), Hint::Queue);
  EXPECT_EQ(hint(node_updated(node("n").build(), node("n").label("zone", "x").build())),
            Hint::Queue);
  EXPECT_EQ(hint(assigned_pod_deleted(world.describe(pod("a").claim("c")))), Hint::Skip);
}

// ---- the default profile
// -------------------------------------------------------------------------

TEST(DefaultProfile, HasTheVolumePluginsInTheirPlace) {
  std::vector<std::string> names;
  for (const ProfilePlugin& plugin : default_profile().plugins) {
    names.push_back(plugin.name);
  }
  const auto first = std::ranges::find(names, "NodeResourcesFit");
  ASSERT_GE(names.end() - first, 6);
  EXPECT_THAT(std::vector<std::string>(first + 1, first + 6),
              ElementsAre("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
                          "PodTopologySpread"));
}

TEST(DefaultProfile, SaysWhatAPodsClaimsLack) {
  SchedulingWorld world;
  world.with(node("a")).with(node("b")).with(claim("c").of_class("now"));
  world.with(storage_class("now"));
  const Decision decision = world.decide(pod("p").claim("c"));
  EXPECT_EQ(decision.message,
            "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. no new "
            "claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not "
            "helpful for scheduling.");
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("VolumeBinding"));
  EXPECT_THAT(world.decide(pod("p").claim("x")).unschedulable_plugins,
              ElementsAre("VolumeRestrictions"));
}

} // namespace
} // namespace berth::sched
