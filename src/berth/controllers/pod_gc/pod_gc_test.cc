#include "berth/controllers/pod_gc/pod_gc.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/faulty_client.h"
#include "berth/model/pod.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"
#include "berth/testing/deaf_client.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using testing::ElementsAre;
using testing::IsEmpty;

class PodGcTest : public testing::Test {
 protected:
  PodGcTest() : line(plane.client, plane.loop, Rng(1), {}) {}

  void start(std::size_t threshold = 12500) {
    gc = std::make_unique<PodGc>(line, plane.loop,
                                 PodGc::Options{.terminated_threshold = threshold});
    wait(0);
  }
  void wait(std::int64_t seconds) { plane.run_for(Duration::seconds(seconds)); }
  bool there(const std::string& pod) const {
    return static_cast<bool>(plane.find(client::kPods, {"default", pod}));
  }
  // Keeps the pod, so that its last state can be read.
  test::PodBuilder kept(const std::string& name) {
    return test::pod(name).finalizer("example.com/keep");
  }
  std::string at(const std::string& pod, std::string_view path) const {
    return std::string(api::string_at(plane.find(client::kPods, {"default", pod}).json(), path));
  }

  test::ControlPlane plane;
  client::FaultyClient line;
  std::unique_ptr<PodGc> gc;
};

TEST_F(PodGcTest, PodsOfANodeThatIsGoneFailAfterTheQuarantine) {
  plane.create(test::node("n1"));
  plane.create(test::node("n2"));
  plane.create(kept("a").on_node("n1"));
  plane.create(test::pod("b").on_node("n2"));
  start();
  plane.remove(client::kNodes, {"", "n1"});
  wait(39);
  EXPECT_EQ(at("a", "status.phase"), "Pending") << "the node may come back";
  wait(2);
  EXPECT_EQ(at("a", "status.phase"), "Failed") << "its owner counts it";
  const auto pod = model::pod_view(plane.find(client::kPods, {"default", "a"})).value();
  ASSERT_NE(pod->status.condition("DisruptionTarget"), nullptr);
  EXPECT_EQ(pod->status.condition("DisruptionTarget")->reason, "DeletionByPodGC");
  EXPECT_TRUE(pod->meta.deletion_timestamp.has_value());
  EXPECT_TRUE(there("b"));
  EXPECT_TRUE(gc->idle());
}

TEST_F(PodGcTest, ANodeThatReturnsInTimeKeepsItsPods) {
  plane.create(test::node("n1"));
  plane.create(test::pod("a").on_node("n1"));
  start();
  plane.remove(client::kNodes, {"", "n1"});
  wait(30);
  plane.create(test::node("n1"));
  wait(30);
  plane.remove(client::kNodes, {"", "n1"});
  wait(39);
  EXPECT_TRUE(there("a")) << "a second absence has its own quarantine";
  wait(2);
  EXPECT_FALSE(there("a"));
}

TEST_F(PodGcTest, ANodeIsOnlyGoneWhenTheServerSaysSo) {
  plane.create(test::node("n1"));
  plane.create(test::pod("a").on_node("n1"));
  test::DeafClient deaf(plane.client);
  PodGc hard_of_hearing(deaf, plane.loop);
  wait(0);
  plane.remove(client::kNodes, {"", "n1"});
  wait(1);
  deaf.ignore(client::kNodes);
  plane.create(test::node("n1"));
  wait(300);
  EXPECT_TRUE(there("a")) << "its node is back, though the collector has not heard of it";
}

TEST_F(PodGcTest, APodBoundToANodeThatNeverWasGoesToo) {
  start();
  plane.create(test::pod("a").on_node("no-such-node"));
  wait(39);
  EXPECT_TRUE(there("a"));
  wait(2);
  EXPECT_FALSE(there("a"));
}

TEST_F(PodGcTest, DeletedPodsThatNobodyWillEndAreEnded) {
  plane.create(kept("never-bound"));
  start();
  plane.remove(client::kPods, {"default", "never-bound"});
  wait(1);
  EXPECT_EQ(at("never-bound", "status.phase"), "Failed");
}

TEST_F(PodGcTest, OutOfServiceEndsWhatIsBeingDeletedThere) {
  plane.create(test::node("n1").not_ready());
  plane.create(test::pod("deleted").on_node("n1").grace(3600));
  plane.create(test::pod("stays").on_node("n1"));
  start();
  plane.remove(client::kPods, {"default", "deleted"});
  wait(60);
  EXPECT_TRUE(there("deleted")) << "its agent may still be at it";
  plane.patch(client::kNodes, {"", "n1"},
              json::object{
                  {"spec", json::object{{"taints", json::array{json::object{
                                                       {"key", "node.kubernetes.io/out-of-service"},
                                                       {"effect", "NoExecute"}}}}}}});
  wait(1);
  EXPECT_FALSE(there("deleted"));
  EXPECT_TRUE(there("stays"));
}

TEST_F(PodGcTest, TheOldestFinishedPodsGoFirst) {
  plane.create(test::node("n1"));
  start(2);
  for (const char* name : {"d", "b", "c", "a"}) { // by age, not by name
    plane.create(test::pod(name).on_node("n1"));
    wait(5);
  }
  for (const char* name : {"a", "b", "c", "d"}) {
    plane.patch_status(client::kPods, {"default", name}, json::object{{"phase", "Succeeded"}});
    wait(1);
  }
  EXPECT_THAT(plane.names(client::kPods), ElementsAre("a", "c"));
  plane.create(test::pod("running").on_node("n1"));
  wait(60);
  EXPECT_THAT(plane.names(client::kPods), ElementsAre("a", "c", "running")) << "only finished ones";
}

TEST_F(PodGcTest, WithoutAThresholdFinishedPodsStay) {
  start(0);
  for (int i = 0; i < 5; ++i) {
    const std::string name = fmt::format("p{}", i);
    plane.create(test::pod(name));
    plane.patch_status(client::kPods, {"default", name}, json::object{{"phase", "Failed"}});
  }
  wait(60);
  EXPECT_EQ(plane.all(client::kPods).size(), 5U);
}

TEST_F(PodGcTest, ALossyLineDelaysOnly) {
  plane.create(test::node("n1"));
  for (int i = 0; i < 8; ++i) {
    plane.create(test::pod(fmt::format("p{}", i)).on_node("n1"));
  }
  start();
  line.set_faults({.longest_delay = Duration::millis(500),
                   .conflict_permille = 300,
                   .lost_permille = 200,
                   .unanswered_permille = 200,
                   .failed_read_permille = 200});
  plane.remove(client::kNodes, {"", "n1"});
  wait(600);
  ASSERT_TRUE(plane.settle());
  EXPECT_THAT(plane.names(client::kPods), IsEmpty());
}

} // namespace
} // namespace berth::controllers
