#include "berth/controllers/replica_set/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

using testing::ElementsAre;

constexpr TimePoint kNow = TimePoint::from_unix_seconds(1'000'000);

ReplicaFact pod(const std::string& name) {
  return {.name = name, .uid = name, .ready_since = {}, .created = kNow - Duration::hours(1)};
}
ReplicaFact serving(const std::string& name, Duration ready_for = Duration::minutes(1)) {
  ReplicaFact fact = pod(name);
  fact.bound = fact.running = fact.ready = true;
  fact.ready_since = kNow - ready_for;
  return fact;
}
std::vector<std::string> removed(std::int64_t wanted, std::vector<ReplicaFact> pods) {
  std::vector<std::string> names;
  for (const ReplicaFact& gone :
       plan_replicas({.wanted = wanted, .min_ready = {}, .pods = std::move(pods), .now = kNow})
           .remove) {
    names.push_back(gone.name);
  }
  return names;
}

TEST(PlanReplicas, MissingOnesAreCreated) {
  EXPECT_EQ(plan_replicas({.wanted = 3, .min_ready = {}, .pods = {pod("a")}, .now = kNow}).create,
            2);
  EXPECT_EQ(plan_replicas({.wanted = 9'000, .min_ready = {}, .pods = {}, .now = kNow}).create,
            kReplicaBurst);
}

TEST(PlanReplicas, PodsThatGoCountForNothing) {
  ReplicaFact going = serving("a");
  going.deleting = true;
  const auto plan = plan_replicas({.wanted = 1, .min_ready = {}, .pods = {going}, .now = kNow});
  EXPECT_EQ(plan.create, 1);
  EXPECT_EQ(plan.status, ReplicaStatus());
}

TEST(PlanReplicas, WhoServesLeastGoesFirst) {
  ReplicaFact bound = pod("bound");
  bound.bound = true;
  ReplicaFact running = pod("running");
  running.bound = running.running = true;
  EXPECT_THAT(removed(1, {serving("serving"), running, bound, pod("waiting")}),
              ElementsAre("waiting", "bound", "running"));
  ReplicaFact cheap = serving("cheap");
  cheap.deletion_cost = -1;
  EXPECT_THAT(removed(1, {serving("dear"), cheap}), ElementsAre("cheap"));
  EXPECT_THAT(
      removed(1, {serving("old", Duration::hours(2)), serving("new", Duration::minutes(1))}),
      ElementsAre("new"));
  ReplicaFact shaky = serving("shaky");
  shaky.restarts = 4;
  EXPECT_THAT(removed(1, {serving("steady"), shaky}), ElementsAre("shaky"));
}

TEST(PlanReplicas, AReadyPodIsAvailableAfterItsTime) {
  const auto plan = plan_replicas(
      {.wanted = 2,
       .min_ready = Duration::minutes(5),
       .pods = {serving("a", Duration::minutes(6)), serving("b", Duration::minutes(2))},
       .now = kNow});
  EXPECT_EQ(plan.status.ready, 2);
  EXPECT_EQ(plan.status.available, 1);
  EXPECT_EQ(plan.wake, kNow + Duration::minutes(3));
}

TEST(PlanReplicas, ASetThatIsDeletedIsLeftToTheCollector) {
  const auto plan = plan_replicas(
      {.wanted = 3, .min_ready = {}, .deleting = true, .pods = {pod("a")}, .now = kNow});
  EXPECT_EQ(plan.create, 0);
  EXPECT_TRUE(plan.remove.empty());
}

} // namespace
} // namespace berth::controllers
