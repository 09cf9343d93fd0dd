// Replicas in a whole cluster: what the plugin of a node would refuse, the scheduler knows.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/base/virtual_loop.h"
#include "berth/cluster/cluster.h"
#include "berth/model/pod.h"

namespace berth::cluster {
namespace {

using testing::HasSubstr;

class ClusterSlices : public ::testing::Test {
 protected:
  ClusterSlices() {
    set_log_level(LogLevel::Off);
    ClusterSpec spec;
    spec.groups.push_back(*parse_node_group("t4-pcie-1:2"));
    deviceplugin::SharedResources shared;
    shared.fail_requests_greater_than_one = true;
    shared.resources.push_back({.name = "nvidia.com/gpu", .replicas = 4});
    spec.groups.front().device_plugin.sharing.time_slicing = shared;
    cluster_ = std::make_unique<Cluster>(loop_, spec, ClusterOptions());
    run(Duration::seconds(30));
  }
  ~ClusterSlices() override { set_log_level(LogLevel::Warn); }

  void run(Duration span) { loop_.run_until(loop_.now() + span); }
  void create(std::string_view name, std::string_view containers) {
    std::vector<api::Manifest> manifests{
        {.object = *api::Object::parse(fmt::format(
             R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},)"
             R"("spec":{{"containers":[{}]}}}})",
             name, containers))}};
    cluster_->apply(std::move(manifests), [](const std::vector<Applied>& applied) {
      for (const Applied& each : applied) {
        EXPECT_TRUE(each.result) << to_string(each.result.error());
      }
    });
    run(Duration::minutes(1));
  }
  static std::string container(std::string_view name, int gpus) {
    return fmt::format(
        R"({{"name":"{}","image":"x","resources":{{"limits":{{"nvidia.com/gpu":"{}"}}}}}})", name,
        gpus);
  }
  std::shared_ptr<const model::Pod> pod(std::string_view name) const {
    const auto found = cluster_->registry().get(store::kPods, {"default", std::string(name)});
    return found ? *model::pod_view(*found) : std::make_shared<const model::Pod>();
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(ClusterSlices, MoreThanOneReplicaForAContainerIsRefusedBeforeThePodIsBound) {
  create("two", container("c", 2));
  EXPECT_EQ(pod("two")->status.phase, "Pending") << pod("two")->status.message;
  EXPECT_EQ(pod("two")->spec.node_name, "");
  const model::Condition* scheduled = pod("two")->status.condition("PodScheduled");
  ASSERT_NE(scheduled, nullptr);
  EXPECT_THAT(scheduled->message,
              HasSubstr("2 node(s) gave at most one replica of nvidia.com/gpu to a container"));
  create("one-each", container("a", 1) + "," + container("b", 1));
  EXPECT_EQ(pod("one-each")->status.phase, "Running");
}

} // namespace
} // namespace berth::cluster
