// Finished Jobs and their time to live, over the embedded registry.
#include "berth/controllers/ttl/ttl_after_finished.h"

#include <gtest/gtest.h>

#include <string>

#include "berth/api/json.h"
#include "berth/controllers/gc/garbage_collector.h"
#include "berth/controllers/job/job_controller.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

using test::FakeKubelet;

class Ttl : public testing::Test {
 protected:
  Ttl()
      : jobs(plane.client, plane.loop, Rng(1)), ttl(plane.client, plane.loop),
        garbage(plane.client, plane.loop), kubelet(plane, "n1", [](const api::Object&) {
          return FakeKubelet::Life{.runs = Duration::seconds(10)};
        }) {}

  void create(const std::string& spec) {
    plane.create(*api::parse_json(
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"default"},)"
        R"("spec":{)" +
        spec + R"("template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c"}]}}}})"));
  }
  bool there() const { return bool(plane.find(client::kJobs, {"default", "j"})); }

  test::ControlPlane plane;
  JobController jobs;
  TtlAfterFinished ttl;
  GarbageCollector garbage;
  FakeKubelet kubelet;
};

TEST_F(Ttl, AJobGoesWithItsPodsAfterItsTime) {
  create(R"("ttlSecondsAfterFinished":60,)");
  plane.run_for(Duration::seconds(60));
  EXPECT_TRUE(there());
  plane.run_for(Duration::seconds(30));
  EXPECT_FALSE(there());
  EXPECT_EQ(plane.all(client::kPods).size(), 0U);
  EXPECT_TRUE(ttl.idle());
}

TEST_F(Ttl, AtOnceIfTheTimeIsZero) {
  create(R"("ttlSecondsAfterFinished":0,)");
  plane.run_for(Duration::seconds(30));
  EXPECT_FALSE(there());
}

TEST_F(Ttl, OthersStay) {
  create("");
  plane.run_for(Duration::hours(24));
  EXPECT_TRUE(there());
  EXPECT_TRUE(ttl.idle());
}

TEST_F(Ttl, ALongerTimeIsHeard) {
  create(R"("ttlSecondsAfterFinished":60,)");
  plane.run_for(Duration::seconds(30));
  plane.patch(client::kJobs, {"default", "j"},
              *api::parse_json(R"({"spec":{"ttlSecondsAfterFinished":600}})"));
  plane.run_for(Duration::minutes(5));
  EXPECT_TRUE(there());
  plane.run_for(Duration::minutes(10));
  EXPECT_FALSE(there());
}

} // namespace
} // namespace berth::controllers
