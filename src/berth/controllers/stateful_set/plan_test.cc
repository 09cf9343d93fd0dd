#include "berth/controllers/stateful_set/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePoint kNow = TimePoint::from_unix_seconds(1'000'000);

StatefulPod pod(std::int64_t ordinal, PodPhase phase, bool ready,
                const std::string& revision = "r1") {
  const std::string name = "web-" + std::to_string(ordinal);
  return {.name = name,
          .uid = name,
          .ordinal = ordinal,
          .revision = revision,
          .phase = phase,
          .ready = ready,
          .ready_since = kNow - Duration::minutes(1)};
}
StatefulPod serving(std::int64_t ordinal, const std::string& revision = "r1") {
  return pod(ordinal, PodPhase::Running, true, revision);
}
StatefulPod starting(std::int64_t ordinal) {
  return pod(ordinal, PodPhase::Pending, false);
}
StatefulPod leaving(std::int64_t ordinal) {
  StatefulPod gone = serving(ordinal);
  gone.deleting = true;
  return gone;
}
StatefulQuestion question(std::int64_t wanted, std::vector<StatefulPod> pods) {
  return {.wanted = wanted,
          .min_ready = {},
          .current_revision = "r1",
          .update_revision = "r1",
          .pods = std::move(pods),
          .now = kNow};
}
std::vector<std::int64_t> created(const StatefulPlan& plan) {
  std::vector<std::int64_t> ordinals;
  for (const StatefulCreate& one : plan.create) {
    ordinals.push_back(one.ordinal);
  }
  return ordinals;
}
std::vector<std::int64_t> removed(const StatefulPlan& plan) {
  std::vector<std::int64_t> ordinals;
  for (const StatefulPod& one : plan.remove) {
    ordinals.push_back(one.ordinal);
  }
  return ordinals;
}

TEST(PlanStateful, OneAfterTheOther) {
  EXPECT_THAT(created(plan_stateful(question(3, {}))), ElementsAre(0));
  EXPECT_THAT(created(plan_stateful(question(3, {starting(0)}))), IsEmpty());
  EXPECT_THAT(created(plan_stateful(question(3, {serving(0)}))), ElementsAre(1));
  EXPECT_THAT(created(plan_stateful(question(3, {leaving(0), serving(1)}))), IsEmpty());
  EXPECT_THAT(created(plan_stateful(question(3, {serving(0), serving(2)}))), ElementsAre(1));
}

TEST(PlanStateful, AllAtOnceInParallel) {
  auto asked = question(3, {});
  asked.management = PodManagement::Parallel;
  EXPECT_THAT(created(plan_stateful(asked)), ElementsAre(0, 1, 2));
  asked.wanted = 1;
  asked.pods = {starting(0), starting(1), starting(2)};
  EXPECT_THAT(removed(plan_stateful(asked)), ElementsAre(2, 1));
}

TEST(PlanStateful, ShrinksFromTheTopWhileAllAreWell) {
  EXPECT_THAT(removed(plan_stateful(question(1, {serving(0), serving(1), serving(2)}))),
              ElementsAre(2));
  EXPECT_THAT(removed(plan_stateful(question(1, {serving(0), serving(1), leaving(2)}))), IsEmpty());
  EXPECT_THAT(removed(plan_stateful(question(1, {starting(0), serving(1)}))), IsEmpty());
  EXPECT_THAT(removed(plan_stateful(question(1, {serving(0), starting(1)}))), ElementsAre(1));
}

TEST(PlanStateful, EndedPodsAreMadeAgain) {
  EXPECT_THAT(removed(plan_stateful(question(2, {pod(0, PodPhase::Failed, false), serving(1)}))),
              ElementsAre(0));
  EXPECT_THAT(removed(plan_stateful(question(1, {pod(0, PodPhase::Succeeded, false)}))),
              ElementsAre(0));
}

TEST(PlanStateful, RollsFromTheTopOneByOne) {
  auto asked = question(3, {serving(0), serving(1), serving(2)});
  asked.update_revision = "r2";
  EXPECT_THAT(removed(plan_stateful(asked)), ElementsAre(2));
  asked.pods = {serving(0), serving(1), serving(2, "r2")};
  EXPECT_THAT(removed(plan_stateful(asked)), ElementsAre(1));
  asked.pods[2].ready = false;
  EXPECT_THAT(removed(plan_stateful(asked)), IsEmpty());
  asked.pods = {serving(0), serving(1)};
  const auto plan = plan_stateful(asked);
  ASSERT_EQ(plan.create.size(), 1U);
  EXPECT_EQ(plan.create[0].revision, "r2");
}

TEST(PlanStateful, APartitionKeepsWhatIsBefore) {
  auto asked = question(3, {serving(0), serving(1), serving(2, "r2")});
  asked.update_revision = "r2";
  asked.partition = 2;
  auto plan = plan_stateful(asked);
  EXPECT_THAT(removed(plan), IsEmpty());
  EXPECT_EQ(plan.status.current, 2);
  EXPECT_EQ(plan.status.updated, 1);
  EXPECT_EQ(plan.status.current_revision, "r1");
  asked.pods = {serving(0), serving(2, "r2")};
  plan = plan_stateful(asked);
  ASSERT_EQ(plan.create.size(), 1U);
  EXPECT_EQ(plan.create[0].revision, "r1") << "replicas before the partition stay as they were";
}

TEST(PlanStateful, ACompleteRolloutIsTheCurrentRevision) {
  auto asked = question(2, {serving(0, "r2"), serving(1, "r2")});
  asked.update_revision = "r2";
  const auto plan = plan_stateful(asked);
  EXPECT_EQ(plan.status.current_revision, "r2");
  EXPECT_EQ(plan.status.current, 2);
  asked.strategy = StatefulStrategy::OnDelete;
  asked.pods = {serving(0), serving(1)};
  EXPECT_THAT(removed(plan_stateful(asked)), IsEmpty());
}

TEST(PlanStateful, OrdinalsMayBeginLater) {
  auto asked = question(2, {serving(0), serving(5)});
  asked.start = 5;
  const auto plan = plan_stateful(asked);
  EXPECT_THAT(created(plan), ElementsAre(6));
  EXPECT_THAT(plan.condemned, ElementsAre(0));
}

TEST(PlanStateful, ReadyForLongEnough) {
  auto asked = question(2, {serving(0)});
  asked.min_ready = Duration::minutes(3);
  const auto plan = plan_stateful(asked);
  EXPECT_THAT(created(plan), IsEmpty());
  EXPECT_EQ(plan.status.ready, 1);
  EXPECT_EQ(plan.status.available, 0);
  EXPECT_EQ(plan.wake, kNow + Duration::minutes(2));
}

TEST(PlanStateful, ASetThatIsDeletedIsLeftToTheCollector) {
  auto asked = question(3, {serving(0)});
  asked.deleting = true;
  const auto plan = plan_stateful(asked);
  EXPECT_THAT(created(plan), IsEmpty());
  EXPECT_EQ(plan.status.replicas, 1);
}

} // namespace
} // namespace berth::controllers
