// CronJobs over the embedded registry, with Jobs and a kubelet that runs what it is given.
#include "berth/controllers/cron_job/cron_job_controller.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/controllers/job/job_controller.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using test::FakeKubelet;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

const api::Key kTick{"default", "tick"};

class CronJobs : public testing::Test {
 protected:
  CronJobs()
      : jobs(plane.client, plane.loop, Rng(1)), crons(plane.client, plane.loop, Rng(2)),
        kubelet(plane, "n1", [this](const api::Object&) { return life; }) {
    plane.loop.run_until(*parse_rfc3339("2023-11-14T23:00:00Z")); // a round time
  }

  void create(const std::string& schedule, const std::string& more = "") {
    plane.create(*api::parse_json(
        R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"tick","namespace":)"
        R"("default"},"spec":{"schedule":")" +
        schedule + R"(")" + more +
        R"(,"jobTemplate":{"metadata":{"labels":{"team":"a"}},"spec":{"backoffLimit":0,)"
        R"("template":{"spec":{"restartPolicy":"Never",)"
        R"("containers":[{"name":"c","image":"i"}]}}}}}})"));
  }
  void pass(Duration time) { plane.run_for(time); }
  std::string status(std::string_view field) const {
    const json::value* found =
        api::find_path(plane.find(kCronJobs, kTick).json(), "status." + std::string(field));
    return found == nullptr ? "" : api::to_json(*found);
  }
  std::vector<std::string> reasons() const {
    std::vector<std::string> out;
    for (const api::Object& event : plane.all(client::kEvents)) {
      if (api::string_at(event.json(), "involvedObject.kind") == "CronJob") {
        out.emplace_back(api::string_at(event.json(), "reason"));
      }
    }
    return out;
  }

  test::ControlPlane plane;
  FakeKubelet::Life life{.runs = Duration::seconds(10), .ends = "Succeeded"};
  JobController jobs;
  CronJobController crons;
  FakeKubelet kubelet;
};

TEST_F(CronJobs, RunWhenTheyAreDue) {
  create("*/5 * * * *");
  pass(Duration::seconds(299));
  EXPECT_THAT(plane.names(client::kJobs), IsEmpty());
  pass(Duration::seconds(2));
  ASSERT_THAT(plane.names(client::kJobs), ElementsAre("tick-28333385"));
  const api::Object job = plane.all(client::kJobs).front();
  EXPECT_EQ(job.meta().labels.at("team"), "a");
  EXPECT_EQ(job.meta().annotations.at("batch.kubernetes.io/cronjob-scheduled-timestamp"),
            "2023-11-14T23:05:00Z");
  EXPECT_EQ(job.meta().controller()->name, "tick");
  EXPECT_EQ(status("lastScheduleTime"), R"("2023-11-14T23:05:00Z")");
  EXPECT_THAT(status("active"), testing::HasSubstr("tick-28333385"));
  pass(Duration::minutes(1));
  EXPECT_EQ(status("active"), "");
  EXPECT_NE(status("lastSuccessfulTime"), "");
  EXPECT_THAT(reasons(), Contains("SuccessfulCreate"));
  EXPECT_THAT(reasons(), Contains("SawCompletedJob"));
}

TEST_F(CronJobs, KeepAsManyJobsAsTheyMay) {
  create("* * * * *", R"(,"successfulJobsHistoryLimit":2)");
  pass(Duration::minutes(6));
  pass(Duration::seconds(30));
  EXPECT_EQ(plane.all(client::kJobs).size(), 2U);
  EXPECT_THAT(reasons(), Contains("SuccessfulDelete"));
}

TEST_F(CronJobs, KeepFewerThatFailed) {
  life.ends = "Failed";
  create("* * * * *");
  pass(Duration::minutes(6));
  pass(Duration::seconds(30));
  EXPECT_EQ(plane.all(client::kJobs).size(), 1U);
  EXPECT_EQ(status("lastSuccessfulTime"), "");
}

TEST_F(CronJobs, ForbidWaitsForTheJobBefore) {
  life.runs = Duration::max();
  create("* * * * *", R"(,"concurrencyPolicy":"Forbid")");
  pass(Duration::minutes(3));
  EXPECT_EQ(plane.all(client::kJobs).size(), 1U);
  EXPECT_THAT(reasons(), Contains("JobAlreadyActive"));
}

TEST_F(CronJobs, AllowRunsThemBesideEachOther) {
  life.runs = Duration::max();
  create("* * * * *");
  pass(Duration::minutes(3));
  EXPECT_EQ(plane.all(client::kJobs).size(), 3U);
}

TEST_F(CronJobs, ReplaceEndsTheJobBefore) {
  life.runs = Duration::max();
  create("* * * * *", R"(,"concurrencyPolicy":"Replace")");
  pass(Duration::minutes(3));
  ASSERT_EQ(plane.all(client::kJobs).size(), 1U);
  EXPECT_EQ(plane.names(client::kJobs).front(), "tick-28333383");
}

TEST_F(CronJobs, SuspendedOnesHaveNoTimer) {
  create("* * * * *", R"(,"suspend":true)");
  pass(Duration::minutes(3));
  EXPECT_THAT(plane.names(client::kJobs), IsEmpty());
  EXPECT_TRUE(crons.idle());
  plane.patch(kCronJobs, kTick, *api::parse_json(R"({"spec":{"suspend":false}})"));
  pass(Duration::seconds(1));
  EXPECT_EQ(plane.all(client::kJobs).size(), 1U) << "the run missed last is made up for";
}

TEST_F(CronJobs, MissedRunsBeyondTheDeadlineAreLeftOut) {
  create("0 * * * *", R"(,"suspend":true,"startingDeadlineSeconds":60)");
  pass(Duration::minutes(90));
  plane.patch(kCronJobs, kTick, *api::parse_json(R"({"spec":{"suspend":false}})"));
  pass(Duration::minutes(1));
  EXPECT_THAT(plane.names(client::kJobs), IsEmpty());
}

TEST_F(CronJobs, ManyMissedRunsAreSpokenOf) {
  create("* * * * *", R"(,"suspend":true)");
  pass(Duration::minutes(200));
  plane.patch(kCronJobs, kTick, *api::parse_json(R"({"spec":{"suspend":false}})"));
  pass(Duration::seconds(1));
  EXPECT_THAT(reasons(), Contains("TooManyMissedTimes"));
  EXPECT_EQ(plane.all(client::kJobs).size(), 1U);
}

TEST_F(CronJobs, AJobMadeByHandIsSeen) {
  create("0 0 1 1 *");
  pass(Duration::seconds(1));
  const api::Object cron = plane.find(kCronJobs, kTick);
  plane.create(*api::parse_json(
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"now","namespace":"default",)"
      R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob","name":"tick",)"
      R"("controller":true,"uid":")" +
      cron.meta().uid +
      R"("}]},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c",)"
      R"("image":"i"}]}}}})"));
  pass(Duration::minutes(1));
  EXPECT_THAT(reasons(), Contains("UnexpectedJob"));
  EXPECT_NE(status("lastSuccessfulTime"), "");
}

TEST_F(CronJobs, PlacesHaveTheirOwnTime) {
  create("0 9 * * *", R"(,"timeZone":"Asia/Tokyo")"); // midnight in UTC
  pass(Duration::minutes(61));
  ASSERT_EQ(plane.all(client::kJobs).size(), 1U);
  EXPECT_EQ(plane.all(client::kJobs)
                .front()
                .meta()
                .annotations.at("batch.kubernetes.io/cronjob-scheduled-timestamp"),
            "2023-11-15T09:00:00+09:00");
}

} // namespace
} // namespace berth::controllers
