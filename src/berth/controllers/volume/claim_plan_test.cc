#include "berth/controllers/volume/claim_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::controllers {
namespace {

using test::claim;
using test::ClaimBuilder;
using test::storage_class;
using test::StorageClassBuilder;
using test::volume;
using test::VolumeBuilder;

struct PlanCase {
  std::string name;
  ClaimBuilder claim;
  std::vector<VolumeBuilder> volumes;
  ClaimStep step;
  std::string of;
};
void PrintTo(const PlanCase& c, std::ostream* out) {
  *out << c.name;
}
class PlanClaim : public testing::TestWithParam<PlanCase> {};

/// Classes "now" and "waits" provision, "hand" does not, "later" waits and does not.
std::vector<std::shared_ptr<const model::StorageClass>> classes() {
  return {storage_class("now").build(), storage_class("waits").waits().build(),
          storage_class("hand").provisioner(model::kNoProvisioner).build(),
          storage_class("later").provisioner(model::kNoProvisioner).waits().build()};
}

TEST_P(PlanClaim, TakesTheNextStep) {
  const PlanCase& c = GetParam();
  std::vector<std::shared_ptr<const model::PersistentVolume>> volumes;
  for (const VolumeBuilder& each : c.volumes) {
    volumes.push_back(each.build());
  }
  const auto known = classes();
  const ClaimPlan plan = plan_claim(*c.claim.build(), {.volumes = volumes, .classes = known});
  EXPECT_EQ(plan.step, c.step);
  EXPECT_EQ(plan.name, c.of);
}

ClaimBuilder c(std::string_view class_name) {
  return claim("c").uid("u").of_class(class_name);
}
VolumeBuilder v(std::string_view name) {
  return volume(name).of_class("hand");
}

INSTANTIATE_TEST_SUITE_P(
    Unbound, PlanClaim,
    testing::Values(
        PlanCase{"NothingMatches", c("hand"), {}, ClaimStep::MarkPending, ""},
        PlanCase{"SaidPending", c("hand").phase("Pending"), {}, ClaimStep::Nothing, ""},
        PlanCase{"ClassMissing", c("x").phase("Pending"), {}, ClaimStep::Nothing, ""},
        PlanCase{"FreeVolume", c("hand"), {v("v")}, ClaimStep::TakeVolume, "v"},
        PlanCase{"SmallestFreeVolume",
                 c("hand"),
                 {v("v").size("3Gi"), v("w").size("2Gi"), v("x").size("2Gi")},
                 ClaimStep::TakeVolume,
                 "w"},
        PlanCase{"VolumeReservedByName",
                 c("hand"),
                 {v("a"), v("v").for_claim("c")},
                 ClaimStep::TakeVolume,
                 "v"},
        PlanCase{"VolumeOfAnotherClaim",
                 c("hand").phase("Pending"),
                 {v("v").for_claim("d")},
                 ClaimStep::Nothing,
                 ""},
        PlanCase{
            "VolumeTaken", c("hand"), {v("v").for_claim("c", "u")}, ClaimStep::MarkVolume, "v"},
        PlanCase{"VolumeMarked",
                 c("hand"),
                 {v("v").for_claim("c", "u").phase("Bound")},
                 ClaimStep::TakeClaim,
                 "v"},
        PlanCase{"NoClassAtAll", claim("c").phase("Pending"), {}, ClaimStep::Nothing, ""},
        PlanCase{"NoClassFreeVolume", claim("c"), {volume("v")}, ClaimStep::TakeVolume, "v"},
        PlanCase{"BeingDeleted", c("now").deleted(TimePoint()), {}, ClaimStep::Nothing, ""}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Provisioned, PlanClaim,
    testing::Values(
        PlanCase{"AtOnce", c("now"), {}, ClaimStep::Provision, ""},
        PlanCase{"WaitsForAConsumer", c("waits"), {}, ClaimStep::MarkPending, ""},
        PlanCase{"ConsumerHasItsNode", c("waits").selected("n"), {}, ClaimStep::Provision, ""},
        PlanCase{"WaitingClaimsVolumesAreTheSchedulers",
                 c("later").phase("Pending"),
                 {volume("v").of_class("later")},
                 ClaimStep::Nothing,
                 ""},
        PlanCase{"TheSchedulerChose",
                 c("later").phase("Pending"),
                 {volume("v").of_class("later").for_claim("c", "u")},
                 ClaimStep::MarkVolume,
                 "v"},
        PlanCase{
            "CannotBeMade", c("later").selected("n").phase("Pending"), {}, ClaimStep::Nothing, ""}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Named, PlanClaim,
    testing::Values(PlanCase{"VolumeMissing", c("hand").wants("v"), {}, ClaimStep::MarkPending, ""},
                    PlanCase{
                        "VolumeFree", c("hand").wants("v"), {v("v")}, ClaimStep::TakeVolume, "v"},
                    PlanCase{"VolumeOfAnother",
                             c("hand").wants("v"),
                             {v("v").for_claim("d")},
                             ClaimStep::MarkPending,
                             ""},
                    PlanCase{"VolumeTaken",
                             c("hand").wants("v"),
                             {v("v").for_claim("c", "u").phase("Bound")},
                             ClaimStep::TakeClaim,
                             "v"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Bound, PlanClaim,
    testing::Values(
        PlanCase{"Done",
                 c("hand").bound_to("v"),
                 {v("v").for_claim("c", "u").phase("Bound")},
                 ClaimStep::Nothing,
                 "v"},
        PlanCase{"PhaseMissing",
                 c("hand").bound_to("v").phase("Pending"),
                 {v("v").for_claim("c", "u").phase("Bound")},
                 ClaimStep::MarkClaim,
                 "v"},
        PlanCase{"VolumePhaseMissing",
                 c("hand").bound_to("v"),
                 {v("v").for_claim("c", "u")},
                 ClaimStep::MarkVolume,
                 "v"},
        PlanCase{"VolumeGone", c("hand").bound_to("v"), {}, ClaimStep::MarkLost, "v"},
        PlanCase{"SaidLost", c("hand").bound_to("v").phase("Lost"), {}, ClaimStep::Nothing, "v"},
        PlanCase{"VolumeOfAnother",
                 c("hand").bound_to("v"),
                 {v("v").for_claim("d")},
                 ClaimStep::MarkLost,
                 "v"},
        PlanCase{"VolumeForgotIt", c("hand").bound_to("v"), {v("v")}, ClaimStep::TakeVolume, "v"}),
    [](const auto& each) { return each.param.name; });

TEST(DefaultClass, IsTheNewest) {
  const auto at = [](std::int64_t s) { return TimePoint::from_unix_seconds(s); };
  const std::vector<std::shared_ptr<const model::StorageClass>> known = {
      storage_class("a").is_default().created(at(1)).build(),
      storage_class("b").created(at(9)).build(),
      storage_class("c").is_default().created(at(5)).build(),
      storage_class("d").is_default().created(at(5)).build()};
  const ClaimWorld world{.volumes = {}, .classes = known};
  ASSERT_NE(default_class(world), nullptr);
  EXPECT_EQ(default_class(world)->meta.name, "c");
  EXPECT_EQ(plan_claim(*claim("x").build(), world), (ClaimPlan{ClaimStep::SetClass, "c"}));
  EXPECT_EQ(plan_claim(*claim("x").of_class("").build(), world).step, ClaimStep::MarkPending);
  EXPECT_EQ(default_class({}), nullptr);
}

} // namespace
} // namespace berth::controllers
