#include "berth/node/agent_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/node/agent.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using testing::HasSubstr;

TEST(AgentCounts, AreUnderTheKubeletsNames) {
  AgentCounts counts;
  counts.plugin_registered("nvidia.com/gpu");
  counts.allocated("nvidia.com/gpu", Duration::millis(20));
  counts.admitted(AgentCounts::Admission::Granted, Duration::millis(1));
  counts.admitted(AgentCounts::Admission::Refused, Duration::millis(1));
  counts.assigned(topology::Scope::Pod, AgentCounts::Place::OneNode);
  counts.assigned(topology::Scope::Pod, AgentCounts::Place::Wider);
  counts.not_assigned();
  counts.not_aligned(topology::Scope::Pod);
  const std::string text = counts.text({.total = 3, .list = {.requests = 2, .errors = 1}});
  for (const char* line :
       {"kubelet_device_plugin_registration_total{resource_name=\"nvidia.com/gpu\"} 1\n",
        "kubelet_device_plugin_alloc_duration_seconds_bucket{resource_name=\"nvidia.com/gpu\","
        "le=\"0.025\"} 1\n",
        "kubelet_pod_resources_endpoint_requests_total{server_api_version=\"v1\"} 3\n",
        "kubelet_pod_resources_endpoint_requests_list{server_api_version=\"v1\"} 2\n",
        "kubelet_pod_resources_endpoint_errors_list{server_api_version=\"v1\"} 1\n",
        "kubelet_topology_manager_admission_requests_total 2\n",
        "kubelet_topology_manager_admission_errors_total 1\n",
        "kubelet_topology_manager_admission_duration_ms_bucket{le=\"1.6\"} 2\n",
        "kubelet_resource_manager_allocations_total{source=\"node\"} 2\n",
        "kubelet_resource_manager_allocation_errors_total{source=\"node\"} 1\n",
        "kubelet_container_aligned_compute_resources_count{boundary=\"numa_node\",scope=\"pod\"} "
        "1\n",
        "kubelet_container_aligned_compute_resources_failure_count{boundary=\"numa_node\","
        "scope=\"pod\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(AgentCounts, OfAMachineThatRuns) {
  test::MachineWorld world(1, "dgx-h100",
                           {.alignment = {.policy = topology::Policy::Restricted},
                            .cpu_policy = topology::CpuPolicy::Static});
  world.plane.create(
      test::MachineWorld::bound("a").extended("cpu", "2").extended("memory", "1Gi").gpus(1));
  world.plane.create(
      test::MachineWorld::bound("b").gpus(2).annotation("berth.dev/gpu-indices", "3,7"));
  world.run(Duration::seconds(10));
  ASSERT_EQ(world.phase("a"), "Running");
  ASSERT_EQ(world.phase("b"), "Failed");
  const std::string text = world.machine->agent()->counts().text({});
  EXPECT_THAT(text, HasSubstr("registration_total{resource_name=\"nvidia.com/gpu\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("alloc_duration_seconds_count{resource_name=\"nvidia.com/gpu\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("admission_requests_total 2\n"));
  EXPECT_THAT(text, HasSubstr("admission_errors_total 1\n"));
  EXPECT_THAT(text, HasSubstr("resources_count{boundary=\"numa_node\",scope=\"container\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("failure_count{boundary=\"numa_node\",scope=\"container\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("resource_manager_allocations_total{source=\"node\"} 1\n"));
}

TEST(AgentCounts, OfSeveralAgentsEachMetricIsToldOnce) {
  AgentCounts a;
  AgentCounts b;
  a.plugin_registered("nvidia.com/gpu");
  b.plugin_registered("nvidia.com/gpu");
  b.plugin_registered("nvidia.com/gpu");
  b.allocated("nvidia.com/mig-1g.10gb", Duration::millis(1));
  const std::string text =
      AgentCounts::page(AgentCounts::families({{.node = "n1", .counts = &a, .asked = {.total = 7}},
                                               {.node = "n2", .counts = &b, .asked = {}}}));
  EXPECT_THAT(text,
              HasSubstr("# TYPE kubelet_device_plugin_registration_total counter\n"
                        "kubelet_device_plugin_registration_total{resource_name=\"nvidia.com/gpu\","
                        "node=\"n1\"} 1\n"
                        "kubelet_device_plugin_registration_total{resource_name=\"nvidia.com/gpu\","
                        "node=\"n2\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("requests_total{server_api_version=\"v1\",node=\"n1\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("alloc_duration_seconds_count{resource_name=\"nvidia.com/"
                              "mig-1g.10gb\",node=\"n2\"} 1\n"));
  const std::string type = "# TYPE kubelet_topology_manager_admission_duration_ms ";
  EXPECT_EQ(text.find(type), text.rfind(type));
  EXPECT_EQ(AgentCounts::page({}), "");
}

} // namespace
} // namespace berth::node
