#include "berth/client/local_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/faulty_client.h"
#include "berth/client/standing_lease.h"
#include "berth/store/memory_store.h"

namespace berth::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const GroupKind kConfigMaps{"", "ConfigMap"};

api::Object config_map(std::string_view name) {
  return api::Object::
      parse(fmt::format(
                R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","namespace":"default"}}}})",
                name))
          .value();
}

class LocalClientTest : public ::testing::Test {
 protected:
  template <class T> Done<T> note(std::string what) {
    return [this, what](const Result<T>& result) {
      story.push_back(what + (result ? "" : fmt::format(": {}", to_string(result.error().code))));
    };
  }
  std::function<void(Result<WatchEvent>)> note_events() {
    return [this](const Result<WatchEvent>& event) {
      story.push_back(
          event ? fmt::format("event {}", event->object ? event->object.meta().name : "bookmark")
                : fmt::format("watch over: {}", to_string(event.error().code)));
    };
  }
  std::string lease() {
    const auto object = registry.get(kLeases, {"kube-node-lease", "n1"});
    if (!object) {
      return "none";
    }
    const auto& annotations = object->meta().annotations;
    return fmt::format("{} {} standing={}", api::string_at(object->json(), "spec.holderIdentity"),
                       api::string_at(object->json(), "spec.renewTime"),
                       annotations.contains(kStandingAnnotation));
  }

  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  LocalClient client{registry, loop};
  FaultyClient line{client, loop, Rng(7), {}};
  std::vector<std::string> story;
};

TEST_F(LocalClientTest, AnswersComeAsLaterTasksInOrder) {
  auto watch = client.watch({.what = {.kind = kConfigMaps}}, note_events());
  client.create(config_map("a"), note<api::Object>("created a"));
  client.get(kConfigMaps, {"default", "nope"}, note<api::Object>("got nope"));
  client.list({.kind = kConfigMaps}, note<ObjectList>("listed"));
  client.remove(kConfigMaps, {"default", "a"}, {}, note<api::Object>("removed a"));
  EXPECT_THAT(story, IsEmpty());
  loop.run_to_idle();
  EXPECT_THAT(story, ElementsAre("event a", "created a", "got nope: NotFound", "listed", "event a",
                                 "removed a"));
}

TEST_F(LocalClientTest, NobodyNeedsToListenToAnAnswer) {
  client.create(config_map("a"), {});
  EXPECT_TRUE(loop.run_to_idle());
  EXPECT_TRUE(registry.get(kConfigMaps, {"default", "a"}));
}

TEST_F(LocalClientTest, ADroppedWatchDeliversNothingMore) {
  auto watch = client.watch({.what = {.kind = kConfigMaps}}, note_events());
  client.create(config_map("a"), {});
  watch.reset();
  loop.run_to_idle();
  EXPECT_THAT(story, IsEmpty());
}

TEST_F(LocalClientTest, AWatchThatCannotStartSaysSoOnce) {
  store::MemoryStore small({.history = 1});
  store::Registry rules(small, Rng(1));
  LocalClient local(rules, loop);
  for (const std::string_view name : {"a", "b", "c"}) {
    local.create(config_map(name), {});
  }
  auto watch = local.watch({.what = {.kind = kConfigMaps}, .since = 1}, note_events());
  EXPECT_THAT(story, IsEmpty());
  loop.run_to_idle();
  EXPECT_THAT(story, ElementsAre("watch over: Expired"));
}

TEST_F(LocalClientTest, AStandingLeaseIsWrittenOnceAtEachEnd) {
  const auto before = store.revision();
  auto held = client.hold_lease({.name = "n1", .holder = "n1", .duration_seconds = 40});
  EXPECT_EQ(lease(), "n1 2023-11-14T22:13:20.000000Z standing=true");
  const auto taken = store.revision();
  EXPECT_LE(taken, before + 2); // the lease and its namespace
  loop.run_until(loop.now() + Duration::hours(24));
  EXPECT_EQ(store.revision(), taken);
  held.reset();
  EXPECT_EQ(lease(), "n1 2023-11-15T22:13:20.000000Z standing=false");
  EXPECT_EQ(store.revision(), taken + 1);
}

TEST_F(LocalClientTest, ALeaseTakenOverIsNotGivenUpByItsFormerHolder) {
  auto first = client.hold_lease({.name = "n1", .holder = "one"});
  auto second = client.hold_lease({.name = "n1", .holder = "two"});
  first.reset();
  EXPECT_EQ(lease(), "two 2023-11-14T22:13:20.000000Z standing=true");
}

TEST_F(LocalClientTest, CuttingTheLineLapsesLeasesAndEndsWatches) {
  auto held = line.hold_lease({.name = "n1", .holder = "n1"});
  auto watch = line.watch({.what = {.kind = kConfigMaps}}, note_events());
  loop.run_until(loop.now() + Duration::seconds(10));
  line.disconnect();
  EXPECT_EQ(lease(), "n1 2023-11-14T22:13:30.000000Z standing=false");
  line.create(config_map("a"), note<api::Object>("created"));
  auto second = line.watch({.what = {.kind = kConfigMaps}}, note_events());
  loop.run_to_idle();
  EXPECT_THAT(story, ElementsAre("watch over: ServiceUnavailable", "created: ServiceUnavailable",
                                 "watch over: ServiceUnavailable"));
  EXPECT_FALSE(registry.get(kConfigMaps, {"default", "a"}));
  loop.run_until(loop.now() + Duration::seconds(10));
  line.reconnect();
  EXPECT_EQ(lease(), "n1 2023-11-14T22:13:40.000000Z standing=true");
}

TEST_F(LocalClientTest, AnswersUnderwayWhenTheLineIsCutAreUnknown) {
  line.set_faults({.longest_delay = Duration::seconds(2)});
  line.create(config_map("a"), note<api::Object>("created"));
  line.disconnect();
  loop.run_to_idle();
  EXPECT_THAT(story, ElementsAre("created: Timeout"));
  EXPECT_TRUE(registry.get(kConfigMaps, {"default", "a"}));
}

TEST_F(LocalClientTest, WritesFailBeforeOrAfterTheyAreMade) {
  line.set_faults({.conflict_permille = 1000});
  line.create(config_map("a"), note<api::Object>("a"));
  line.set_faults({.lost_permille = 1000});
  line.create(config_map("b"), note<api::Object>("b"));
  line.set_faults({.unanswered_permille = 1000});
  line.create(config_map("c"), note<api::Object>("c"));
  line.set_faults({.failed_read_permille = 1000});
  line.list({.kind = kConfigMaps}, note<ObjectList>("list"));
  loop.run_to_idle();
  EXPECT_THAT(story,
              ElementsAre("a: Conflict", "b: Timeout", "c: Timeout", "list: ServiceUnavailable"));
  EXPECT_THAT(registry.list({.kind = kConfigMaps}).items, SizeIs(1));
}

TEST_F(LocalClientTest, EventsAreRepeatedAndLost) {
  line.set_faults({.duplicate_permille = 1000});
  auto watch = line.watch({.what = {.kind = kConfigMaps}}, note_events());
  client.create(config_map("a"), {});
  loop.run_to_idle();
  EXPECT_THAT(story, ElementsAre("event a", "event a"));
  story.clear();
  line.set_faults({.lose_permille = 1000});
  client.create(config_map("b"), {});
  client.create(config_map("c"), {});
  loop.run_to_idle();
  EXPECT_THAT(story, ElementsAre("watch over: Expired"));
}

TEST_F(LocalClientTest, EqualSeedsGiveEqualFaults) {
  const auto run = [] {
    VirtualLoop turns{TimePoint()};
    store::MemoryStore objects;
    store::Registry rules(objects, Rng(1));
    LocalClient local(rules, turns);
    FaultyClient bad(
        local, turns, Rng(3),
        {.longest_delay = Duration::seconds(1), .conflict_permille = 300, .reorder_permille = 500});
    std::vector<std::string> seen;
    auto watch = bad.watch({.what = {.kind = kConfigMaps}}, [&](const Result<WatchEvent>& event) {
      seen.push_back(fmt::format("{} {}", event->object.meta().name, turns.now().unix_nanos()));
    });
    for (int i = 0; i < 20; ++i) {
      bad.create(config_map(fmt::format("c{}", i)), {});
    }
    turns.run_to_idle();
    return seen;
  };
  EXPECT_THAT(run(), ::testing::Not(IsEmpty()));
  EXPECT_EQ(run(), run());
}

} // namespace
} // namespace berth::client
