// kubectl top and the GPUs' metrics, as berth up serves them.
#include <optional>
#include <string>

#include <gmock/gmock.h>

#include "berth/cli/up/virtual_up_fixture.h"

namespace berth::cli::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kApi = "/apis/metrics.k8s.io/v1beta1";
constexpr const char* kGpus = "/apis/metrics.berth.dev/v1alpha1/gpus";

class LiveMetrics : public VirtualUp {
 protected:
  const api::json::array& items(const api::json::value& list) {
    static const api::json::array kNone;
    const api::json::value* found = api::find(list, "items");
    EXPECT_NE(found, nullptr) << api::to_json(list);
    return found == nullptr ? kNone : found->as_array();
  }
};

TEST_F(LiveMetrics, TheGroupIsDiscovered) {
  EXPECT_THAT(ask("GET", "/apis").body, HasSubstr(R"("name":"metrics.k8s.io")"));
  const auto resources = get(kApi);
  EXPECT_EQ(api::find(resources, "resources")->as_array().size(), 2U);
  EXPECT_THAT(ask("GET", "/openapi/v3/apis/metrics.k8s.io/v1beta1").body, HasSubstr("NodeMetrics"));
}

TEST_F(LiveMetrics, NodesUseWhatTheirPodsUse) {
  const auto idle = get(std::string(kApi) + "/nodes");
  EXPECT_EQ(api::string_at(idle, "kind"), "NodeMetricsList");
  ASSERT_EQ(items(idle).size(), 2U);
  const auto& node = items(idle)[0];
  EXPECT_EQ(api::string_at(node, "metadata.name"), "dgx-h100-1");
  EXPECT_EQ(api::string_at(node, "window"), "15s");
  EXPECT_THAT(std::string(api::string_at(node, "usage.cpu")), EndsWith("n"));
  EXPECT_THAT(std::string(api::string_at(node, "usage.memory")), EndsWith("Ki"));
  const auto one = get(std::string(kApi) + "/nodes/dgx-h100-2");
  EXPECT_EQ(api::string_at(one, "kind"), "NodeMetrics");
  EXPECT_EQ(items(get(std::string(kApi) + "/nodes?labelSelector=a%3Db")).size(), 0U);
  EXPECT_EQ(
      items(get(std::string(kApi) + "/nodes?fieldSelector=metadata.name%3Ddgx-h100-2")).size(), 1U);
  const auto none = ask("GET", std::string(kApi) + "/nodes/x");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr(R"(nodemetrics.metrics.k8s.io \"x\" not found)"));
  EXPECT_EQ(ask("DELETE", std::string(kApi) + "/nodes/dgx-h100-1").status, 405);
  EXPECT_EQ(ask("GET", std::string(kApi) + "/nodes?watch=true").status, 405);
}

TEST_F(LiveMetrics, PodsByContainer) {
  make_pod("a", "{}", R"([{"name":"x","image":"i","resources":{"requests":{"cpu":"4"}}},
                          {"name":"y","image":"i"}])");
  make_pod("done", R"({"berth.dev/run-for":"1s"})");
  EXPECT_EQ(items(get(std::string(kApi) + "/pods")).size(), 0U) << "nothing runs yet";
  run(Duration::seconds(20));
  const auto pods = get(std::string(kApi) + "/namespaces/default/pods");
  ASSERT_EQ(items(pods).size(), 1U) << "what has ended uses nothing";
  const auto pod = get(std::string(kApi) + "/namespaces/default/pods/a");
  const auto& containers = api::find(pod, "containers")->as_array();
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(api::string_at(containers[0], "name"), "x");
  EXPECT_THAT(ask("GET", std::string(kApi) + "/namespaces/default/pods/done").body,
              HasSubstr(R"(podmetrics.metrics.k8s.io \"default/done\" not found)"));
  EXPECT_EQ(items(get(std::string(kApi) + "/namespaces/other/pods")).size(), 0U);
}

TEST_F(LiveMetrics, GpusAndWhoHasThem) {
  make_pod("a");
  run(Duration::seconds(90));
  const auto pod = get("/api/v1/namespaces/default/pods/a");
  const std::string node(api::string_at(pod, "spec.nodeName"));
  const auto gpus = get(std::string(kGpus) + "?labelSelector=kubernetes.io%2Fhostname%3D" + node);
  ASSERT_EQ(items(gpus).size(), 8U);
  int busy = 0;
  for (const auto& gpu : items(gpus)) {
    EXPECT_EQ(api::string_at(gpu, "health"), "Healthy");
    const bool taken = api::string_at(gpu, "pod.name") == "a";
    EXPECT_EQ(api::find(gpu, "utilization")->to_number<int>() > 0, taken);
    busy += taken ? 1 : 0;
  }
  EXPECT_EQ(busy, 2);
  ASSERT_TRUE(cluster.fleet().find(node)->inventory().xid(3, 79).has_value());
  const auto sick = get(std::string(kGpus) + "/" + node + "-gpu-3");
  EXPECT_EQ(api::string_at(sick, "health"), "Unhealthy");
  EXPECT_THAT(std::string(api::string_at(sick, "reason")), HasSubstr("Xid 79"));
}

TEST_F(LiveMetrics, ANodeThatIsDownHasNone) {
  cluster.fleet().find("dgx-h100-1")->power_off();
  EXPECT_EQ(items(get(std::string(kApi) + "/nodes")).size(), 1U);
  EXPECT_EQ(items(get(kGpus)).size(), 8U);
}

/// The value of the first series of the metric whose labels contain `label`; nothing: there is
/// none.
std::optional<double> value_of(const std::string& page, const std::string& metric,
                               const std::string& label) {
  for (std::size_t at = page.find("\n" + metric + "{"); at != std::string::npos;
       at = page.find("\n" + metric + "{", at + 1)) {
    const std::string line = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    if (line.find(label) != std::string::npos) {
      return std::stod(line.substr(line.rfind(' ') + 1));
    }
  }
  return std::nullopt;
}

TEST_F(LiveMetrics, WhoHasEndedIsNamedNoMore) {
  make_pod("a", R"({"berth.dev/run-for":"30s"})");
  run(Duration::seconds(20));
  EXPECT_THAT(ask("GET", "/metrics/gpus").body, HasSubstr(R"(pod="a")"));
  run(Duration::minutes(2));
  EXPECT_THAT(ask("GET", "/metrics/gpus").body, Not(HasSubstr(R"(pod="a")")));
}

TEST_F(LiveMetrics, ASimulatedGpuShowsWhatItsLoadComesTo) {
  make_pod("a");
  run(Duration::seconds(90));
  const std::string before = ask("GET", "/metrics/gpus").body;
  run(Duration::seconds(30));
  const std::string page = ask("GET", "/metrics/gpus").body;
  const std::string busy = R"(namespace="default",pod="a")";
  const std::string idle = R"(gpu="7",UUID=)";
  const auto of = [&](const std::string& metric, const std::string& which) {
    const auto value = value_of(page, metric, which);
    EXPECT_TRUE(value.has_value()) << metric << " of " << which;
    return value.value_or(-1);
  };
  EXPECT_GT(of("DCGM_FI_DEV_POWER_USAGE", busy), of("DCGM_FI_DEV_POWER_USAGE", idle));
  EXPECT_LE(of("DCGM_FI_DEV_POWER_USAGE", busy), 700) << "an H100's limit";
  EXPECT_EQ(of("DCGM_FI_DEV_SM_CLOCK", busy), 1980);
  EXPECT_GT(of("DCGM_FI_DEV_GPU_TEMP", busy), of("DCGM_FI_DEV_GPU_TEMP", idle));
  EXPECT_GT(of("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", busy), 0);
  EXPECT_EQ(of("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", idle), 0);
  EXPECT_GT(of("DCGM_FI_PROF_PCIE_RX_BYTES", busy), 0);
  const std::string energy = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
  EXPECT_GT(of(energy, busy), value_of(before, energy, busy).value_or(1e18)) << "it goes on";
  EXPECT_GT(of("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", busy), 0) << "two GPUs speak to each other";
  EXPECT_EQ(of("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", idle), 0);
}

TEST_F(LiveMetrics, PartsOfAGpuAreBusyInProportion) {
  for (const char* name : {"a", "b"}) {
    make_pod(name, R"({"gpu-fraction":"0.5"})", R"([{"name":"c","image":"train:1"}])");
  }
  run(Duration::seconds(90));
  const std::string page = ask("GET", "/metrics/gpus").body;
  const std::string shared = R"(gpu="0")"; // one of the two is named
  const auto percent = value_of(page, "DCGM_FI_DEV_GPU_UTIL", shared);
  ASSERT_TRUE(percent.has_value()) << page;
  EXPECT_GE(*percent, 50) << "both together";
  EXPECT_LE(*percent, 100);
  EXPECT_GT(value_of(page, "DCGM_FI_DEV_FB_USED", shared).value_or(0), 0);
}

TEST_F(LiveMetrics, MigDevicesHaveNumbersOfTheirOwn) {
  ASSERT_TRUE(cluster.fleet().find("dgx-h100-1")->inventory().cut(0, "1g.10gb=2").has_value());
  run(Duration::seconds(20));
  const auto gpu = get(std::string(kGpus) + "/dgx-h100-1-gpu-0");
  EXPECT_EQ(api::find(gpu, "utilization"), nullptr) << "never told of a GPU that is cut";
  const api::json::value* instances = api::find(gpu, "instances");
  ASSERT_NE(instances, nullptr) << api::to_json(gpu);
  ASSERT_EQ(instances->as_array().size(), 2U);
  EXPECT_EQ(api::string_at(instances->as_array()[0], "profile"), "1g.10gb");
  EXPECT_NE(api::find_path(instances->as_array()[0], "memory.capacity"), nullptr);
  EXPECT_THAT(ask("GET", "/metrics/gpus").body, HasSubstr("GPU_I_PROFILE=\"1g.10gb\""));
}

TEST_F(LiveMetrics, WhatTheAgentsCount) {
  make_pod("a");
  run(Duration::seconds(20));
  const std::string page = ask("GET", "/metrics/nodes").body;
  for (const char* node : {"dgx-h100-1", "dgx-h100-2"}) {
    EXPECT_EQ(value_of(page, "kubelet_device_plugin_registration_total",
                       std::string("node=\"") + node + "\""),
              1);
  }
  EXPECT_EQ(value_of(page, "kubelet_device_plugin_alloc_duration_seconds_count",
                     R"(resource_name="nvidia.com/gpu")"),
            1);
  cluster.fleet().find("dgx-h100-1")->power_off();
  EXPECT_THAT(ask("GET", "/metrics/nodes").body, Not(HasSubstr("dgx-h100-1")));
}

} // namespace
} // namespace berth::cli::test
