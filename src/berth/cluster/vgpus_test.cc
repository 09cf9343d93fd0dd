// HAMi's vGPUs in a whole cluster: the profile that places them, the agents that give them, and
// quotas of namespaces, all of one mind.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/base/virtual_loop.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/fleet.h"
#include "berth/model/hami.h"
#include "berth/model/node.h"
#include "berth/scheduler/scheduler.h"

namespace berth::cluster {
namespace {

namespace hami = model::hami;
namespace json = boost::json;
using testing::HasSubstr;
using testing::SizeIs;

/// As docs/hami.md has it.
sched::Profile vgpu_profile() {
  sched::Profile profile = scheduler::berth_profile();
  profile.scheduler_name = "hami-scheduler";
  profile.other_names.clear();
  std::erase_if(profile.plugins, [](const auto& each) {
    return each.name == "GpuTopology" || each.name == "GpuShare" || each.name == "GpuSlices";
  });
  for (sched::ProfilePlugin& each : profile.plugins) {
    if (each.name == "NodeResourcesFit") {
      each.args =
          json::object{{"ignoredResources", json::array{model::kGpuResource, hami::kMemory,
                                                        hami::kMemoryPercentage, hami::kCores}}};
    }
  }
  profile.plugins.push_back({.name = "Hami", .weight = 1, .args = nullptr});
  return profile;
}

class ClusterVgpus : public ::testing::Test {
 protected:
  ClusterVgpus() {
    set_log_level(LogLevel::Off);
    ClusterSpec spec;
    spec.groups.push_back(*parse_node_group("t4-pcie-1:2"));
    spec.groups.front().hami = node::HamiSettings{.split_count = 3};
    auto options = std::make_shared<scheduler::SchedulerOptions>();
    options->profiles = {scheduler::berth_profile(), vgpu_profile()};
    cluster_ = std::make_unique<Cluster>(loop_, spec, ClusterOptions{.scheduler = options});
    run(Duration::seconds(30));
  }
  ~ClusterVgpus() override { set_log_level(LogLevel::Warn); }

  void run(Duration span) { loop_.run_until(loop_.now() + span); }
  void apply(const std::string& text) {
    std::vector<api::Manifest> manifests{{.object = *api::Object::parse(text)}};
    cluster_->apply(std::move(manifests), [](const std::vector<Applied>& applied) {
      for (const Applied& each : applied) {
        EXPECT_TRUE(each.result) << to_string(each.result.error());
      }
    });
    run(Duration::seconds(20));
  }
  void create(std::string_view name, std::string_view limits,
              std::string_view scheduler = "hami-scheduler") {
    apply(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}",)"
                      R"("namespace":"default"}},"spec":{{"schedulerName":"{}","containers":)"
                      R"([{{"name":"c","image":"x","resources":{{"limits":{{{}}}}}}}]}}}})",
                      name, scheduler, limits));
  }
  std::shared_ptr<const model::Pod> pod(std::string_view name) const {
    const auto found = cluster_->registry().get(store::kPods, {"default", std::string(name)});
    return found ? *model::pod_view(*found) : std::make_shared<const model::Pod>();
  }
  std::string phase(std::string_view name) const { return pod(name)->status.phase; }
  std::string why(std::string_view name) const {
    const model::Condition* scheduled = pod(name)->status.condition("PodScheduled");
    return scheduled ? scheduled->message : "";
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(ClusterVgpus, SchedulerAndAgentsAgreeOnEveryGpu) {
  for (int i = 0; i < 6; ++i) {
    create(fmt::format("p{}", i),
           R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"5000","nvidia.com/gpucores":"30")");
  }
  for (int i = 0; i < 6; ++i) {
    const auto each = pod(fmt::format("p{}", i));
    ASSERT_EQ(each->status.phase, "Running") << i;
    EXPECT_EQ(each->meta.annotations.at(std::string(hami::kBindPhase)), "success");
    const auto& ledger = cluster_->fleet().find(each->spec.node_name)->agent()->devices();
    const auto held = ledger.of_pod(each->meta.uid);
    ASSERT_THAT(held, SizeIs(1));
    EXPECT_EQ(held.front()->ids().front(), hami::shares_of(*each)->front().front().uuid);
  }
  create("seventh", R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"1")");
  EXPECT_EQ(phase("seventh"), "Pending");
  EXPECT_THAT(why("seventh"),
              HasSubstr("2 node(s) didn't have vGPUs with enough memory and cores left"));
  EXPECT_TRUE(cluster_->fleet().broken_invariants().empty());
}

TEST_F(ClusterVgpus, AreNotGivenToPodsOfOtherProfiles) {
  create("p", R"("nvidia.com/gpu":"1")", "default-scheduler");
  EXPECT_EQ(phase("p"), "Pending");
  EXPECT_THAT(why("p"), HasSubstr("2 node(s) gave their GPUs as HAMi's vGPUs"));
}

TEST_F(ClusterVgpus, ANamespaceWaitsForItsQuota) {
  apply(
      R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"default"},)"
      R"("spec":{"hard":{"limits.nvidia.com/gpumem":"8000"}}})");
  create("a", R"("nvidia.com/gpumem":"6000")");
  create("b", R"("nvidia.com/gpumem":"6000")");
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(phase("b"), "Pending");
  EXPECT_THAT(why("b"), HasSubstr("no vGPUs within what the namespace's quota leaves"));
  const json::value wider{{"spec", {{"hard", {{"limits.nvidia.com/gpumem", "12000"}}}}}};
  ASSERT_TRUE(cluster_->registry().patch(store::kResourceQuotas, {"default", "q"}, wider,
                                         store::Subresource::None, loop_.now()));
  run(Duration::minutes(1));
  EXPECT_EQ(phase("b"), "Running");
}

} // namespace
} // namespace berth::cluster
