#include "berth/controllers/quota/resource_quota_controller.h"

#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth/client/faulty_client.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

json::value quota(const std::string& name, json::object hard) {
  return json::object{{"apiVersion", "v1"},
                      {"kind", "ResourceQuota"},
                      {"metadata", json::object{{"name", name}, {"namespace", "default"}}},
                      {"spec", json::object{{"hard", std::move(hard)}}}};
}

json::value config_map(const std::string& name) {
  return json::object{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", json::object{{"name", name}, {"namespace", "default"}}}};
}

using Amounts = std::map<std::string, std::string>;

Amounts used(const test::ControlPlane& plane) {
  Amounts out;
  const api::Object object = plane.find(client::kResourceQuotas, {"default", "q"});
  const json::value* values = api::find_path(object.json(), "status.used");
  if (values != nullptr) {
    for (const auto& [key, value] : values->as_object()) {
      out[std::string(key)] = std::string(value.as_string());
    }
  }
  return out;
}

class QuotaControllerTest : public testing::Test {
 protected:
  QuotaControllerTest() { start(); }

  void start() { controller = std::make_unique<ResourceQuotaController>(plane.client, plane.loop); }
  void settle() { ASSERT_TRUE(plane.settle()); }
  std::uint64_t version() const {
    return plane.find(client::kResourceQuotas, {"default", "q"}).meta().resource_version;
  }

  test::ControlPlane plane;
  std::unique_ptr<ResourceQuotaController> controller;
};

// The server accounts for pods, the controller for the rest; both in one status.
TEST_F(QuotaControllerTest, CountsObjectsBesideTheServersPods) {
  plane.create(quota("q", {{"count/jobs.batch", "5"}, {"configmaps", "5"}, {"pods", "9"}}));
  plane.create(test::job("one"));
  plane.create(test::job("two"));
  plane.create(test::pod("p"));
  settle();
  EXPECT_EQ(used(plane), (Amounts{{"configmaps", "0"}, {"count/jobs.batch", "2"}, {"pods", "1"}}));
  plane.remove(client::kJobs, {"default", "one"});
  plane.create(config_map("c"));
  settle();
  EXPECT_EQ(used(plane), (Amounts{{"configmaps", "1"}, {"count/jobs.batch", "1"}, {"pods", "1"}}));
  EXPECT_TRUE(controller->idle());
}

TEST_F(QuotaControllerTest, AQuotaOfPodsAloneIsLeftToTheServer) {
  plane.create(quota("q", {{"pods", "10"}}));
  plane.create(test::pod("a"));
  const auto before = version();
  settle();
  EXPECT_EQ(version(), before);
  EXPECT_EQ(used(plane), (Amounts{{"pods", "1"}}));
}

TEST_F(QuotaControllerTest, WhatIsCountedMayChange) {
  plane.create(quota("q", {{"configmaps", "10"}}));
  plane.create(config_map("c"));
  plane.create(test::job("one"));
  settle();
  EXPECT_EQ(used(plane), (Amounts{{"configmaps", "1"}}));
  plane.patch(
      client::kResourceQuotas, {"default", "q"},
      json::object{{"spec", json::object{{"hard", json::object{{"configmaps", nullptr},
                                                               {"count/jobs.batch", "8"}}}}}});
  settle();
  EXPECT_EQ(used(plane), (Amounts{{"count/jobs.batch", "1"}}));
}

TEST_F(QuotaControllerTest, AWrongCountIsPutRight) {
  plane.create(quota("q", {{"configmaps", "10"}}));
  settle();
  plane.patch_status(client::kResourceQuotas, {"default", "q"},
                     json::object{{"used", json::object{{"configmaps", "7"}}}});
  settle();
  EXPECT_EQ(used(plane), (Amounts{{"configmaps", "0"}}));
}

TEST_F(QuotaControllerTest, OtherNamespacesDoNotCount) {
  plane.create(json::value(json::object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", "other"}}}}));
  plane.create(quota("q", {{"count/jobs.batch", "10"}}));
  plane.create(test::job("one").ns("other"));
  settle();
  EXPECT_EQ(used(plane), (Amounts{{"count/jobs.batch", "0"}}));
}

TEST_F(QuotaControllerTest, ARestartWritesNothingNew) {
  plane.create(quota("q", {{"count/jobs.batch", "10"}, {"requests.memory", "1Ti"}}));
  plane.create(test::job("one"));
  plane.create(test::pod("a").memory("1Gi"));
  settle();
  const auto before = version();
  start();
  settle();
  EXPECT_EQ(version(), before) << "not even a zero before it knows better";
}

TEST(QuotaControllerUnderFaults, EndsWithThePlainCount) {
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    test::ControlPlane plane(seed);
    client::FaultyClient line(plane.client, plane.loop, rng.fork(1),
                              {.longest_delay = Duration::millis(rng.between(0, 300)),
                               .conflict_permille = 200,
                               .lost_permille = 100,
                               .unanswered_permille = 100,
                               .failed_read_permille = 100,
                               .duplicate_permille = 200,
                               .reorder_permille = 300,
                               .lose_permille = 50});
    ResourceQuotaController controller(line, plane.loop);
    plane.create(quota("q", {{"configmaps", "100"}, {"pods", "100"}}));
    const client::GroupKind config_maps{"", "ConfigMap"};
    for (int step = 0; step < 40; ++step) {
      const std::string name = fmt::format("x{}", rng.below(5));
      if (rng.chance(1, 3)) {
        if (plane.find(client::kPods, {"default", name})) {
          plane.remove(client::kPods, {"default", name}, {.grace_period_seconds = 0});
        } else {
          plane.create(test::pod(name));
        }
      } else if (plane.find(config_maps, {"default", name})) {
        plane.remove(config_maps, {"default", name});
      } else {
        plane.create(config_map(name));
      }
      plane.run_for(Duration::millis(rng.between(0, 200)));
    }
    line.set_faults({});
    ASSERT_TRUE(plane.settle());
    EXPECT_EQ(used(plane),
              (Amounts{{"configmaps", fmt::format("{}", plane.all(config_maps).size())},
                       {"pods", fmt::format("{}", plane.all(client::kPods).size())}}));
  }
}

} // namespace
} // namespace berth::controllers
