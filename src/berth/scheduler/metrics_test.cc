// kube-scheduler's metrics, from a whole scheduler in virtual time.
#include "berth/scheduler/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/scheduler/scheduler.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::scheduler {
namespace {

using testing::HasSubstr;
using testing::Not;

class MetricsTest : public testing::Test {
 protected:
  void start() {
    auto started = Scheduler::start(plane.client, plane.loop, Rng(5),
                                    {.profiles = {berth_profile()}, .queue = {}});
    ASSERT_TRUE(started.has_value());
    scheduler = *std::move(started);
  }
  void wait(std::int64_t ms) { plane.run_for(Duration::millis(ms)); }

  test::ControlPlane plane;
  std::unique_ptr<Scheduler> scheduler;
};

TEST_F(MetricsTest, CountAttemptsAndQueues) {
  plane.create(test::node("n1").cpu("4").memory("64Gi").pods(110));
  plane.create(test::node("n2").cpu("4").memory("64Gi").pods(110));
  start();
  plane.create(test::pod("a").cpu("1"));
  plane.create(test::pod("b").cpu("1"));
  plane.create(test::pod("big").cpu("64"));
  plane.create(test::pod("gated").cpu("1").gate("later"));
  wait(100);
  const std::string text = scheduler->metrics();
  const std::string of = R"(profile="default-scheduler")";
  for (
      const std::string& line :
      {"scheduler_schedule_attempts_total{" + of + R"(,result="scheduled"} 2)",
       "scheduler_schedule_attempts_total{" + of + R"(,result="unschedulable"} 1)",
       std::string(R"(scheduler_pending_pods{queue="unschedulable"} 1)"),
       std::string(R"(scheduler_pending_pods{queue="gated"} 1)"),
       std::string(R"(scheduler_pending_pods{queue="active"} 0)"),
       std::string(R"(scheduler_queue_incoming_pods_total{event="PodAdd",queue="active"} 3)"),
       std::string(
           R"(scheduler_queue_incoming_pods_total{event="PodAdd",queue="unschedulable"} 1)"),
       std::string(
           R"(scheduler_queue_incoming_pods_total{event="ScheduleAttemptFailure",queue="unschedulable"} 1)"),
       R"(scheduler_unschedulable_pods{plugin="NodeResourcesFit",)" + of + "} 1",
       R"(scheduler_unschedulable_pods{plugin="SchedulingGates",)" + of + "} 1",
       R"(scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodeResourcesFit",)" +
           of + "} 3",
       R"(scheduler_plugin_evaluation_total{extension_point="Score",plugin="NodeResourcesFit",)" +
           of + "} 2",
       std::string("scheduler_pod_scheduling_attempts_bucket{le=\"1\"} 2"),
       std::string("scheduler_preemption_attempts_total 1"),
       std::string(R"(scheduler_goroutines{operation="binding"} 0)")}) {
    EXPECT_THAT(text, HasSubstr("\n" + line + "\n"));
  }
  EXPECT_EQ(text, scheduler->metrics()) << "looking changes nothing";
}

TEST_F(MetricsTest, WaitingLastsAndComputingDoesNot) {
  plane.create(test::node("n1").cpu("4").memory("64Gi").pods(110));
  start();
  plane.create(test::pod("p").cpu("8"));
  wait(30'000);
  EXPECT_THAT(scheduler->metrics(),
              HasSubstr(R"(scheduler_unschedulable_pods{plugin="NodeResourcesFit",)"));
  plane.create(test::node("n2").cpu("64").memory("64Gi").pods(110));
  wait(5000);
  const std::string text = scheduler->metrics();
  EXPECT_THAT(text,
              HasSubstr(R"(scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"} 30)"));
  EXPECT_THAT(text, HasSubstr("scheduler_scheduling_algorithm_duration_seconds_sum 0\n"));
  EXPECT_THAT(
      text, HasSubstr(R"(scheduler_queue_incoming_pods_total{event="NodeAdd",queue="active"} 1)"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 0)"))
      << "no series vanishes";
}

TEST_F(MetricsTest, PreemptionCountsItsVictims) {
  plane.create(test::node("n1").cpu("4").memory("64Gi").pods(110));
  start();
  plane.create(test::priority_class("high", 1000));
  plane.create(test::pod("low").cpu("4"));
  wait(100);
  plane.create(test::pod("high").cpu("4").priority_class("high"));
  wait(100);
  EXPECT_THAT(scheduler->metrics(), HasSubstr("scheduler_preemption_victims_sum 1\n"));
}

/// Buckets as kube-scheduler's, by their number and first bound.
TEST_F(MetricsTest, BucketsAreKubernetes) {
  plane.create(test::node("n1").cpu("4").memory("64Gi").pods(110));
  start();
  plane.create(test::pod("a").cpu("1"));
  wait(10);
  const std::string text = scheduler->metrics();
  const auto buckets = [&](const std::string& name) {
    std::size_t n = 0;
    for (std::size_t at = text.find(name + "_bucket{"); at != std::string::npos;
         at = text.find(name + "_bucket{", at + 1)) {
      ++n;
    }
    return n;
  };
  EXPECT_EQ(buckets("scheduler_scheduling_attempt_duration_seconds"), 16U);
  EXPECT_EQ(buckets("scheduler_scheduling_algorithm_duration_seconds"), 16U);
  EXPECT_EQ(buckets("scheduler_framework_extension_point_duration_seconds"), 13U);
  EXPECT_EQ(buckets("scheduler_pod_scheduling_sli_duration_seconds"), 21U);
  EXPECT_EQ(buckets("scheduler_pod_scheduling_attempts"), 6U);
  EXPECT_EQ(buckets("scheduler_preemption_victims"), 8U);
  EXPECT_THAT(text, HasSubstr("le=\"16.384\""));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

} // namespace
} // namespace berth::scheduler
