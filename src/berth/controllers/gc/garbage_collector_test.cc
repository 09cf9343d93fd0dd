#include "berth/controllers/gc/garbage_collector.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/faulty_client.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using client::Propagation;
using testing::ElementsAre;
using testing::IsEmpty;

const client::GroupKind kConfigMaps{"", "ConfigMap"};

class GarbageCollectorTest : public testing::Test {
 protected:
  GarbageCollectorTest() : line(plane.client, plane.loop, Rng(1), {}) {}

  void start() { gc = std::make_unique<GarbageCollector>(line, plane.loop); }
  void settle() { ASSERT_TRUE(plane.settle()); }
  api::Object job(const std::string& name) { return plane.create(test::job(name)); }
  api::Object config_map(const std::string& name) {
    return plane.create(json::value(json::object{
        {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", json::object{{"name", name}}}}));
  }
  /// A pod with these owners; the first is the controller.
  api::Object owned(const std::string& name, const std::vector<api::Object>& owners,
                    bool blocks = true) {
    return plane.create(test::pod(name).edit([&](json::object& document) {
      json::array references;
      for (const api::Object& owner : owners) {
        references.push_back(json::object{{"apiVersion", owner.gvk().api_version()},
                                          {"kind", owner.gvk().kind},
                                          {"name", owner.meta().name},
                                          {"uid", owner.meta().uid},
                                          {"blockOwnerDeletion", blocks}});
      }
      document["metadata"].as_object()["ownerReferences"] = std::move(references);
    }));
  }
  void remove(const client::GroupKind& kind, const std::string& name,
              Propagation propagation = Propagation::Background) {
    plane.remove(kind, {"default", name}, {.grace_period_seconds = 0, .propagation = propagation});
  }
  std::vector<std::string> pods() const { return plane.names(client::kPods); }

  test::ControlPlane plane;
  client::FaultyClient line;
  std::unique_ptr<GarbageCollector> gc;
};

TEST_F(GarbageCollectorTest, DependentsOfAGoneOwnerGo) {
  start();
  const api::Object train = job("train");
  const api::Object other = job("other");
  owned("a", {train});
  owned("b", {other});
  owned("c", {});
  settle();
  EXPECT_THAT(pods(), ElementsAre("a", "b", "c"));
  remove(client::kJobs, "train");
  settle();
  EXPECT_THAT(pods(), ElementsAre("b", "c"));
  EXPECT_TRUE(gc->idle());
}

TEST_F(GarbageCollectorTest, ItGoesDownTheWholeTree) {
  start();
  const api::Object root = job("root");
  const api::Object middle = owned("middle", {root});
  owned("leaf", {middle});
  settle();
  remove(client::kJobs, "root");
  settle();
  EXPECT_THAT(pods(), IsEmpty());
}

TEST_F(GarbageCollectorTest, WhatWasOrphanedBeforeItStartedGoesToo) {
  const api::Object train = job("train");
  owned("a", {train});
  remove(client::kJobs, "train");
  start();
  settle();
  EXPECT_THAT(pods(), IsEmpty());
}

TEST_F(GarbageCollectorTest, ANewOwnerOfTheOldNameOwnsNothing) {
  start();
  const api::Object first = job("train");
  owned("a", {first});
  settle();
  remove(client::kJobs, "train");
  const api::Object second = job("train");
  owned("b", {second});
  settle();
  EXPECT_THAT(pods(), ElementsAre("b"));
}

TEST_F(GarbageCollectorTest, OneLivingOwnerIsEnough) {
  start();
  const api::Object first = job("first");
  const api::Object second = job("second");
  owned("a", {first, second});
  settle();
  remove(client::kJobs, "first");
  settle();
  ASSERT_THAT(pods(), ElementsAre("a"));
  const auto owners = plane.find(client::kPods, {"default", "a"}).meta().owner_references;
  ASSERT_EQ(owners.size(), 1U) << "the dead one is forgotten";
  EXPECT_EQ(owners[0].name, "second");
  remove(client::kJobs, "second");
  settle();
  EXPECT_THAT(pods(), IsEmpty());
}

TEST_F(GarbageCollectorTest, ForegroundWaitsForThoseThatBlock) {
  start();
  const api::Object train = job("train");
  plane.create(test::pod("held").finalizer("example.com/keep").owned_by(train));
  owned("free", {train}, false);
  settle();
  remove(client::kJobs, "train", Propagation::Foreground);
  settle();
  EXPECT_TRUE(plane.find(client::kJobs, {"default", "train"})) << "a dependent is still held";
  plane.patch(client::kPods, {"default", "held"},
              json::object{{"metadata", json::object{{"finalizers", nullptr}}}});
  settle();
  EXPECT_FALSE(plane.find(client::kJobs, {"default", "train"}));
  EXPECT_THAT(pods(), IsEmpty());
}

TEST_F(GarbageCollectorTest, OrphansStayAndForgetTheirOwner) {
  start();
  const api::Object train = job("train");
  const api::Object other = job("other");
  owned("a", {train});
  owned("b", {train, other});
  settle();
  remove(client::kJobs, "train", Propagation::Orphan);
  settle();
  EXPECT_FALSE(plane.find(client::kJobs, {"default", "train"}));
  EXPECT_THAT(pods(), ElementsAre("a", "b"));
  EXPECT_TRUE(plane.find(client::kPods, {"default", "a"}).meta().owner_references.empty());
  EXPECT_EQ(plane.find(client::kPods, {"default", "b"}).meta().owner_references.size(), 1U);
}

TEST_F(GarbageCollectorTest, AnOwnerOfAKindItDoesNotWatchIsAskedFor) {
  start();
  const api::Object map = config_map("map");
  owned("a", {map});
  settle();
  EXPECT_THAT(pods(), ElementsAre("a"));
  remove(kConfigMaps, "map");
  settle();
  EXPECT_THAT(pods(), IsEmpty()) << "it watches that kind from then on";
}

TEST_F(GarbageCollectorTest, NothingGoesWhileTheServerCannotBeAsked) {
  const api::Object map = config_map("map");
  start();
  settle();
  line.set_faults({.failed_read_permille = 1000}); // watches go on
  owned("a", {map});
  plane.run_for(Duration::minutes(10));
  EXPECT_THAT(pods(), ElementsAre("a"));
  EXPECT_FALSE(gc->idle());
  line.set_faults({});
  settle();
  EXPECT_THAT(pods(), ElementsAre("a")) << "its owner was there all the time";
}

TEST_F(GarbageCollectorTest, ALossyLineNeitherKeepsGarbageNorTakesMore) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    test::ControlPlane world(seed);
    client::FaultyClient bad(world.client, world.loop, Rng(seed),
                             {.longest_delay = Duration::millis(400),
                              .conflict_permille = 200,
                              .lost_permille = 150,
                              .unanswered_permille = 150,
                              .failed_read_permille = 200,
                              .duplicate_permille = 200,
                              .reorder_permille = 300,
                              .lose_permille = 50});
    GarbageCollector collector(bad, world.loop);
    for (int i = 0; i < 4; ++i) {
      const api::Object owner = world.create(test::job(fmt::format("job-{}", i)));
      for (int k = 0; k < 3; ++k) {
        world.create(test::pod(fmt::format("job-{}-{}", i, k)).owned_by(owner));
        world.run_for(Duration::millis(50));
      }
    }
    world.remove(client::kJobs, {"default", "job-1"}, {.propagation = Propagation::Background});
    world.remove(client::kJobs, {"default", "job-3"}, {.propagation = Propagation::Foreground});
    world.run_for(Duration::minutes(5));
    bad.set_faults({});
    ASSERT_TRUE(world.settle());
    EXPECT_THAT(world.names(client::kJobs), ElementsAre("job-0", "job-2"));
    EXPECT_THAT(world.names(client::kPods),
                ElementsAre("job-0-0", "job-0-1", "job-0-2", "job-2-0", "job-2-1", "job-2-2"));
  }
}

} // namespace
} // namespace berth::controllers
