// Nodes that fall silent and come back, with the evictions that follow, in virtual time.
#include "berth/controllers/node/node_lifecycle.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/faulty_client.h"
#include "berth/controllers/node/node_plan.h"
#include "berth/controllers/node/taint_eviction.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"
#include "berth/testing/deaf_client.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class NodeLifecycleTest : public testing::Test {
 protected:
  NodeLifecycleTest() : line(plane.client, plane.loop, Rng(1), {}) {}

  void start(NodeLifecycle::Options options = {}) {
    lifecycle = std::make_unique<NodeLifecycle>(line, plane.loop, Rng(2), options);
    eviction = std::make_unique<TaintEviction>(line, plane.loop, Rng(3));
    wait(0);
  }
  void wait(std::int64_t seconds) { plane.run_for(Duration::seconds(seconds)); }
  std::unique_ptr<client::StandingLease> lease(const std::string& node) {
    return plane.client.hold_lease({.name = node, .holder = node});
  }
  std::string ready(const std::string& node) const {
    const auto view = model::node_view(plane.find(client::kNodes, {"", node})).value();
    return std::string(condition_status(*view, "Ready"));
  }
  std::vector<std::string> taints(const std::string& node) const {
    std::vector<std::string> out;
    for (const model::Taint& t :
         model::node_view(plane.find(client::kNodes, {"", node})).value()->taints) {
      out.push_back(fmt::format("{}:{}", t.key, t.effect));
    }
    return out;
  }
  void report(const std::string& node, std::string_view status) {
    plane.patch_status(
        client::kNodes, {"", node},
        json::object{{"conditions", json::array{json::object{
                                        {"type", "Ready"},
                                        {"status", status},
                                        {"lastHeartbeatTime", to_rfc3339(plane.loop.now())}}}}});
  }
  void tolerate(test::PodBuilder& pod, std::int64_t seconds) {
    pod.edit([seconds](json::object& document) {
      json::array list;
      for (const std::string_view key : {kNotReadyTaint, kUnreachableTaint}) {
        list.push_back(json::object{{"key", key},
                                    {"operator", "Exists"},
                                    {"effect", "NoExecute"},
                                    {"tolerationSeconds", seconds}});
      }
      document["spec"].as_object()["tolerations"] = std::move(list);
    });
  }
  void running_pod(const std::string& name, const std::string& node, std::int64_t tolerates = 300) {
    test::PodBuilder pod(name);
    pod.on_node(node);
    tolerate(pod, tolerates);
    plane.create(pod);
    plane.patch_status(client::kPods, {"default", name},
                       json::object{{"phase", "Running"},
                                    {"conditions", json::array{json::object{{"type", "Ready"},
                                                                            {"status", "True"}}}}});
  }
  api::Object pod(const std::string& name) const {
    return plane.find(client::kPods, {"default", name});
  }
  bool deleted(const std::string& name) const {
    return !pod(name) || pod(name).meta().deletion_timestamp.has_value();
  }
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const api::Object& event : plane.all(client::kEvents)) {
      out.push_back(fmt::format("{} {}", api::string_at(event.json(), "reason"),
                                api::string_at(event.json(), "involvedObject.name")));
    }
    return out;
  }

  test::ControlPlane plane;
  client::FaultyClient line;
  std::unique_ptr<NodeLifecycle> lifecycle;
  std::unique_ptr<TaintEviction> eviction;
};

TEST_F(NodeLifecycleTest, ASilentNodeIsTaintedAndItsPodsLeaveInTheirTime) {
  auto held = lease("n1");
  plane.create(test::node("n1"));
  running_pod("patient", "n1", 300);
  running_pod("hasty", "n1", 0);
  start();
  wait(3600);
  EXPECT_EQ(ready("n1"), "True") << "a held lease needs no renewal";
  EXPECT_TRUE(lifecycle->idle());
  held.reset();
  wait(39);
  EXPECT_EQ(ready("n1"), "True");
  wait(2);
  EXPECT_EQ(ready("n1"), "Unknown");
  EXPECT_THAT(taints("n1"), UnorderedElementsAre("node.kubernetes.io/unreachable:NoSchedule",
                                                 "node.kubernetes.io/unreachable:NoExecute"));
  EXPECT_THAT(events(), Contains("NodeNotReady n1"));
  EXPECT_TRUE(deleted("hasty"));
  EXPECT_FALSE(deleted("patient"));
  EXPECT_EQ(model::pod_view(pod("patient")).value()->status.condition("Ready")->status, "False");
  wait(295);
  EXPECT_FALSE(deleted("patient"));
  wait(10);
  EXPECT_TRUE(deleted("patient"));
  ASSERT_TRUE(pod("patient")) << "its agent ends it, or the pod garbage collector";
  const auto view = model::pod_view(pod("patient")).value();
  EXPECT_EQ(view->status.condition("DisruptionTarget")->reason, "DeletionByTaintManager");
}

TEST_F(NodeLifecycleTest, ANodeThatReturnsKeepsItsPods) {
  auto held = lease("n1");
  plane.create(test::node("n1"));
  running_pod("p", "n1");
  start();
  held.reset();
  wait(60);
  ASSERT_EQ(ready("n1"), "Unknown");
  held = lease("n1");
  report("n1", "True");
  wait(1);
  EXPECT_EQ(ready("n1"), "True");
  EXPECT_THAT(taints("n1"), IsEmpty());
  EXPECT_EQ(api::find_path(plane.find(client::kNodes, {"", "n1"}).json(), "spec.taints"), nullptr);
  wait(3600);
  EXPECT_FALSE(deleted("p"));
  EXPECT_THAT(events(), Contains("TaintManagerEviction p")) << "the deletion is called off";
  EXPECT_TRUE(lifecycle->idle());
  EXPECT_TRUE(eviction->idle());
}

TEST_F(NodeLifecycleTest, ANodeThatSaysItIsNotReadyIsTaintedAtOnce) {
  auto held = lease("n1");
  plane.create(test::node("n1"));
  start();
  report("n1", "False");
  wait(1);
  EXPECT_THAT(taints("n1"), UnorderedElementsAre("node.kubernetes.io/not-ready:NoSchedule",
                                                 "node.kubernetes.io/not-ready:NoExecute"));
  report("n1", "True");
  wait(1);
  EXPECT_THAT(taints("n1"), IsEmpty());
}

TEST_F(NodeLifecycleTest, ANodeThatNeverReportsGetsAMinute) {
  plane.create(test::node("n1").edit([](json::object& document) { document.erase("status"); }));
  start();
  wait(59);
  EXPECT_EQ(ready("n1"), "");
  wait(2);
  EXPECT_EQ(ready("n1"), "Unknown");
}

TEST_F(NodeLifecycleTest, WithoutALeaseANodeMayBeTrusted) {
  plane.create(test::node("n1"));
  start({.without_lease = NodeLifecycle::WithoutLease::Trusted});
  wait(3600);
  EXPECT_EQ(ready("n1"), "True");
  EXPECT_TRUE(lifecycle->idle());
}

TEST_F(NodeLifecycleTest, OrNotTrusted) {
  plane.create(test::node("n1"));
  start();
  wait(39);
  EXPECT_EQ(ready("n1"), "True");
  wait(2);
  EXPECT_EQ(ready("n1"), "Unknown");
}

TEST_F(NodeLifecycleTest, AStalledWatchLosesNoNode) {
  plane.create(test::node("n1"));
  const auto renew = [&] {
    auto held = lease("n1"); // its end is one renewal
    held.reset();
  };
  renew();
  test::DeafClient deaf(plane.client);
  NodeLifecycle hard_of_hearing(deaf, plane.loop, Rng(2));
  wait(0);
  deaf.ignore(client::kLeases);
  for (int i = 0; i < 20; ++i) {
    wait(10);
    renew();
    EXPECT_EQ(ready("n1"), "True") << i;
  }
  wait(60);
  EXPECT_EQ(ready("n1"), "Unknown") << "the server has no news either";
}

TEST_F(NodeLifecycleTest, APodThatToleratesTheTaintStays) {
  plane.create(test::node("n1").taint("example.com/broken", "NoExecute"));
  auto held = lease("n1");
  plane.create(test::pod("tolerant").on_node("n1").tolerates("example.com/broken"));
  plane.create(test::pod("other").on_node("n1"));
  start();
  wait(3600);
  EXPECT_FALSE(deleted("tolerant"));
  EXPECT_TRUE(deleted("other"));
}

TEST_F(NodeLifecycleTest, ADeletedNodeIsForgotten) {
  plane.create(test::node("n1"));
  start();
  wait(10);
  plane.remove(client::kNodes, {"", "n1"});
  ASSERT_TRUE(plane.settle());
  EXPECT_TRUE(lifecycle->idle());
  EXPECT_THAT(plane.names(client::kNodes), Not(Contains("n1")));
}

TEST_F(NodeLifecycleTest, ALossyLineDelaysOnly) {
  auto held = lease("n1");
  plane.create(test::node("n1"));
  running_pod("p", "n1", 60);
  start();
  line.set_faults({.longest_delay = Duration::millis(500),
                   .conflict_permille = 300,
                   .lost_permille = 200,
                   .unanswered_permille = 200,
                   .failed_read_permille = 200});
  held.reset();
  wait(1200);
  line.set_faults({});
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(ready("n1"), "Unknown");
  EXPECT_EQ(taints("n1").size(), 2U);
  EXPECT_TRUE(deleted("p"));
}

} // namespace
} // namespace berth::controllers
