#include "berth/controllers/elastic_quota/elastic_quota_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/store/addon_kinds.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

using test::elastic_quota;
using test::pod;

class ElasticQuotaStatus : public testing::Test {
 protected:
  std::string used() {
    EXPECT_TRUE(plane.settle());
    const api::Object quota = plane.find(store::kElasticQuotas, {"default", "q"});
    const auto* used = api::find_path(quota.json(), "status.used");
    return used == nullptr ? "" : api::to_json(*used);
  }
  void phase(const std::string& name, std::string_view phase) {
    plane.patch_status(client::kPods, {"default", name},
                       api::json::object{{"phase", test::text(phase)}});
  }

  test::ControlPlane plane;
};

TEST_F(ElasticQuotaStatus, IsWhatRunningPodsAskFor) {
  ElasticQuotaController controller(plane.client, plane.loop);
  plane.create(elastic_quota("q").min(model::kGpuResource, "4").max("cpu", "8"));
  EXPECT_EQ(used(), R"({"cpu":"0","nvidia.com/gpu":"0"})");
  plane.create(pod("a").gpus(2).cpu("500m").memory("1Gi"));
  plane.create(pod("b").gpus(1));
  plane.create(pod("elsewhere").ns("kube-system").gpus(8));
  EXPECT_EQ(used(), R"({"cpu":"0","nvidia.com/gpu":"0"})") << "none runs";
  phase("a", "Running");
  EXPECT_EQ(used(), R"({"cpu":"500m","nvidia.com/gpu":"2","memory":"1Gi"})");
  phase("b", "Running");
  EXPECT_EQ(used(), R"({"cpu":"500m","nvidia.com/gpu":"3","memory":"1Gi"})");
  phase("a", "Succeeded");
  EXPECT_EQ(used(), R"({"cpu":"0","nvidia.com/gpu":"1"})") << "memory is named by nobody any more";
  plane.remove(client::kPods, {"default", "b"}, {.grace_period_seconds = 0});
  EXPECT_EQ(used(), R"({"cpu":"0","nvidia.com/gpu":"0"})");
  EXPECT_TRUE(controller.idle());
}

TEST_F(ElasticQuotaStatus, FollowsTheQuota) {
  plane.create(pod("a").gpus(2));
  phase("a", "Running");
  ElasticQuotaController controller(plane.client, plane.loop);
  EXPECT_TRUE(plane.settle());
  plane.create(elastic_quota("q").min("cpu", "4"));
  EXPECT_EQ(used(), R"({"cpu":"0","nvidia.com/gpu":"2"})");
}

} // namespace
} // namespace berth::controllers
