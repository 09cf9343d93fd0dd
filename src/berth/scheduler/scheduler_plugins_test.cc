// Plugins of scheduler-plugins in the scheduler process: their objects are watched, and pods wake
// when these change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/scheduler/scheduler.h"
#include "berth/store/addon_kinds.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::scheduler {
namespace {

using test::elastic_quota;
using test::node;
using test::node_metrics;
using test::numa_report;
using test::pod;
using testing::HasSubstr;

class SchedulerPlugins : public testing::Test {
 protected:
  void start(std::string_view plugin, std::int64_t weight = 1) {
    sched::Profile profile = berth_profile();
    profile.plugins.push_back({.name = std::string(plugin), .weight = weight, .args = nullptr});
    auto started = Scheduler::start(plane.client, plane.loop, Rng(5),
                                    {.profiles = {std::move(profile)}, .queue = {}});
    ASSERT_TRUE(started.has_value()) << to_string(started.error());
    scheduler = *std::move(started);
  }
  /// Long enough for a watch event, too short for a backoff or the leftover flush to matter.
  void wait(std::int64_t ms = 10) { plane.run_for(Duration::millis(ms)); }
  std::string at(const api::Key& name, std::string_view path) const {
    return std::string(api::string_at(plane.find(client::kPods, name).json(), path));
  }
  std::string node_of(const std::string& name, const std::string& ns = "default") const {
    return at({ns, name}, "spec.nodeName");
  }
  std::string why_not(const std::string& name) const {
    const api::Object pod = plane.find(client::kPods, {"default", name});
    const auto* conditions = api::find_path(pod.json(), "status.conditions");
    return conditions == nullptr ? "" : api::to_json(*conditions);
  }

  test::ControlPlane plane;
  std::unique_ptr<Scheduler> scheduler;
};

/// Past the backoff of the first attempts, well before the flush after 5 minutes.
constexpr std::int64_t kPastBackoff = 11'000;

TEST_F(SchedulerPlugins, PodsWaitForTheirQuotaAndWakeWhenItGrows) {
  plane.create(node("n").gpus(8));
  plane.create(elastic_quota("q")
                   .min(model::kGpuResource, "2")
                   .min("cpu", "8")
                   .max(model::kGpuResource, "2"));
  start("CapacityScheduling");
  plane.create(pod("first").gpus(2));
  plane.create(pod("second").gpus(2));
  wait();
  EXPECT_EQ(node_of("first"), "n");
  EXPECT_EQ(node_of("second"), "");
  EXPECT_THAT(why_not("second"), HasSubstr("ElasticQuota default is more than Max"));
  wait(kPastBackoff);
  EXPECT_EQ(node_of("second"), "");
  plane.patch(store::kElasticQuotas, {"default", "q"},
              api::json::object{
                  {"spec", api::json::object{{"min", api::json::object{{"nvidia.com/gpu", 4}}},
                                             {"max", api::json::object{{"nvidia.com/gpu", 4}}}}}});
  wait();
  EXPECT_EQ(node_of("second"), "n");
}

TEST_F(SchedulerPlugins, PodsWakeWhenAPodOfTheQuotaLeaves) {
  plane.create(node("n").gpus(8));
  plane.create(elastic_quota("q").min(model::kGpuResource, "2"));
  start("CapacityScheduling");
  plane.create(pod("first").gpus(2).grace(0));
  plane.create(pod("second").gpus(2));
  wait(kPastBackoff);
  EXPECT_EQ(node_of("first"), "n");
  EXPECT_THAT(why_not("second"), HasSubstr("total ElasticQuota used is more than min"));
  plane.remove(client::kPods, {"default", "first"}, {.grace_period_seconds = 0});
  wait();
  EXPECT_EQ(node_of("second"), "n");
}

TEST_F(SchedulerPlugins, StatusOfAQuotaWakesNobody) {
  plane.create(node("n").gpus(8));
  plane.create(elastic_quota("q").min(model::kGpuResource, "2"));
  start("CapacityScheduling");
  plane.create(pod("waiting").gpus(4));
  wait(kPastBackoff);
  const auto attempts = scheduler->stats().attempts;
  plane.patch_status(store::kElasticQuotas, {"default", "q"},
                     api::json::object{{"used", api::json::object{{"nvidia.com/gpu", "2"}}}});
  wait(kPastBackoff);
  EXPECT_EQ(scheduler->stats().attempts, attempts);
}

TEST_F(SchedulerPlugins, PodsWakeWhenNumaZonesAreFree) {
  plane.create(node("n").cpu("8"));
  const auto report = [](std::string_view cpus) {
    return numa_report("n").zone("node-0").free("cpu", cpus).free("memory", "8Gi");
  };
  plane.create(report("1"));
  start("NodeResourceTopologyMatch");
  plane.create(pod("p").extended("cpu", "2").extended("memory", "1Gi"));
  wait(kPastBackoff);
  EXPECT_EQ(node_of("p"), "");
  EXPECT_THAT(why_not("p"), HasSubstr("cannot align container"));
  plane.patch(
      store::kNodeResourceTopologies, {"", "n"},
      api::json::object{{"zones", *api::find(api::json::value(report("4").document()), "zones")}});
  wait();
  EXPECT_EQ(node_of("p"), "n");
}

TEST_F(SchedulerPlugins, LoadIsWatched) {
  plane.create(node("a").cpu("10"));
  plane.create(node("b").cpu("10"));
  plane.create(node_metrics("a").measured("CPU", "AVG", 90));
  plane.create(node_metrics("b").measured("CPU", "AVG", 20));
  start("TargetLoadPacking", 100);
  plane.create(pod("p1").limit("cpu", "100m"));
  wait();
  EXPECT_EQ(node_of("p1"), "b");
  plane.patch(
      store::kNodeMetrics, {"", "b"},
      api::json::object{{"metrics", api::json::array{api::json::object{
                                        {"type", "CPU"}, {"operator", "AVG"}, {"value", 95}}}}});
  plane.patch(
      store::kNodeMetrics, {"", "a"},
      api::json::object{{"metrics", api::json::array{api::json::object{
                                        {"type", "CPU"}, {"operator", "AVG"}, {"value", 30}}}}});
  wait();
  plane.create(pod("p2").limit("cpu", "100m"));
  wait();
  EXPECT_EQ(node_of("p2"), "a");
}

TEST_F(SchedulerPlugins, ServicesSpreadTheirPodsOverZones) {
  for (const char* name : {"a1", "a2", "a3", "b1"}) {
    plane.create(node(name).label("topology.kubernetes.io/zone", std::string(1, name[0])));
  }
  plane.create(test::service("web").selects("app", "web"));
  start("NodeResourcesAllocatable");
  for (const char* name : {"w1", "w2"}) {
    plane.create(pod(name).label("app", "web").cpu("1"));
    wait();
  }
  EXPECT_NE(node_of("w1")[0], node_of("w2")[0]) << node_of("w1") << " " << node_of("w2");
}

} // namespace
} // namespace berth::scheduler
