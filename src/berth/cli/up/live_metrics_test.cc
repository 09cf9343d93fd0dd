// kubectl top and the GPUs' metrics, as berth up serves them.
#include <gmock/gmock.h>

#include "berth/cli/up/virtual_up_fixture.h"

namespace berth::cli::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

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

} // namespace
} // namespace berth::cli::test
