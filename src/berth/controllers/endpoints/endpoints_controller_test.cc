// Services and the addresses of their pods, over the embedded registry.
#include "berth/controllers/endpoints/endpoints_controller.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/controllers/endpoints/backends.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

using testing::HasSubstr;
using testing::Not;

const client::GroupKind kEndpoints{"", "Endpoints"};
const client::GroupKind kSlices{"discovery.k8s.io", "EndpointSlice"};

class Endpoints : public testing::Test {
 protected:
  Endpoints() : controller(plane.client, plane.loop) {}

  void service(const std::string& more = "") {
    plane.create(*api::parse_json(
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},)"
        R"("spec":{"selector":{"app":"web"},"ports":[{"name":"http","port":80,)"
        R"("targetPort":"serve"}])" +
        more + "}}"));
  }
  void pod(const std::string& name, const std::string& ip, const std::string& ready = "True") {
    plane.create(*api::parse_json(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
        R"(","namespace":"default","labels":{"app":"web"}},"spec":{"containers":[{"name":"c",)"
        R"("ports":[{"name":"serve","containerPort":8080}]}]}})"));
    plane.patch_status(client::kPods, {"default", name},
                       *api::parse_json(R"({"phase":"Running","podIP":")" + ip +
                                        R"(","conditions":[{"type":"Ready","status":")" + ready +
                                        R"("}]})"));
  }
  void pass() { plane.run_for(Duration::seconds(5)); }
  std::string subsets() const {
    const api::Object held = plane.find(kEndpoints, {"default", "web"});
    const api::json::value* found = held ? api::find(held.json(), "subsets") : nullptr;
    return found == nullptr ? "" : api::to_json(*found);
  }
  std::size_t addresses() const {
    std::size_t count = 0;
    for (const api::Object& slice : plane.all(kSlices)) {
      count += api::find(slice.json(), "endpoints")->as_array().size();
    }
    return count;
  }

  test::ControlPlane plane;
  EndpointsController controller;
};

TEST_F(Endpoints, AreThePodsThatMatch) {
  service();
  pod("a", "10.0.0.1");
  pod("b", "10.0.0.2", "False");
  pass();
  EXPECT_THAT(subsets(), HasSubstr(R"("addresses":[{"ip":"10.0.0.1")"));
  EXPECT_THAT(subsets(), HasSubstr(R"("notReadyAddresses":[{"ip":"10.0.0.2")"));
  EXPECT_THAT(subsets(), HasSubstr(R"("port":8080)"));
  ASSERT_EQ(plane.all(kSlices).size(), 1U);
  const api::Object slice = plane.all(kSlices).front();
  EXPECT_EQ(slice.meta().labels.at("kubernetes.io/service-name"), "web");
  EXPECT_EQ(slice.meta().controller()->kind, "Service");
  EXPECT_EQ(addresses(), 2U);
  EXPECT_TRUE(controller.idle());
}

TEST_F(Endpoints, FollowThePods) {
  service();
  pass();
  ASSERT_EQ(plane.all(kSlices).size(), 1U) << "a slice that says that nobody serves";
  EXPECT_EQ(addresses(), 0U);
  pod("a", "10.0.0.1");
  pass();
  EXPECT_EQ(addresses(), 1U);
  plane.remove(client::kPods, {"default", "a"}, {.grace_period_seconds = 0});
  pass();
  EXPECT_EQ(addresses(), 0U);
  EXPECT_EQ(subsets(), "");
}

TEST_F(Endpoints, UnreadyOnesServeWhereThatIsWanted) {
  service(R"(,"publishNotReadyAddresses":true)");
  pod("a", "10.0.0.1", "False");
  pass();
  EXPECT_THAT(subsets(), Not(HasSubstr("notReadyAddresses")));
  EXPECT_THAT(subsets(), HasSubstr("10.0.0.1"));
}

TEST_F(Endpoints, ManyPodsNeedManySlices) {
  service();
  for (int i = 0; i < 150; ++i) {
    pod("p" + std::to_string(i), "10.0.1." + std::to_string(i));
  }
  pass();
  EXPECT_EQ(plane.all(kSlices).size(), 2U);
  EXPECT_EQ(addresses(), 150U);
}

TEST_F(Endpoints, GoWithTheService) {
  service();
  pod("a", "10.0.0.1");
  pass();
  plane.remove({"", "Service"}, {"default", "web"});
  pass();
  EXPECT_FALSE(plane.find(kEndpoints, {"default", "web"}));
}

TEST_F(Endpoints, WithoutASelectorTheyAreSomebodyElses) {
  plane.create(*api::parse_json(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default"},)"
      R"("spec":{"ports":[{"port":80}]}})"));
  pass();
  EXPECT_EQ(plane.all(kEndpoints).size(), 0U);
  EXPECT_EQ(plane.all(kSlices).size(), 0U);
}

} // namespace
} // namespace berth::controllers
