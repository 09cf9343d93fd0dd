#include "berth/client/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/local_client.h"
#include "berth/store/memory_store.h"

namespace berth::client {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

api::Object config_map(std::string_view name) {
  return api::Object::
      parse(fmt::format(
                R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}","namespace":"default","uid":"u-{}","resourceVersion":"7"}}}})",
                name, name))
          .value();
}

class EventsTest : public ::testing::Test {
 protected:
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  LocalClient client{registry, loop};
  EventRecorder recorder{client, loop, Rng(9), "default-scheduler"};

  void record(std::string_view reason, std::string_view message, std::string_view about = "a") {
    recorder.record(config_map(about), EventType::Warning, reason, message);
    loop.run_to_idle();
  }
  void pass(Duration span) { loop.run_until(loop.now() + span); }
  std::vector<std::string> messages() {
    std::vector<std::string> out;
    for (const api::Object& event : registry.list({.kind = kEvents}).items) {
      out.push_back(fmt::format("{} x{}", api::string_at(event.json(), "message"),
                                api::find_path(event.json(), "count")->as_int64()));
    }
    return out;
  }
};

TEST_F(EventsTest, WritesACoreEvent) {
  record("FailedScheduling", "0/4 nodes are available");
  const auto events = registry.list({.kind = kEvents}).items;
  ASSERT_THAT(events, SizeIs(1));
  api::json::value document = events.front().json();
  const std::string name = events.front().meta().name;
  EXPECT_THAT(name, ::testing::MatchesRegex("a\\.[0-9a-f]{16}"));
  document.as_object().stable_erase("metadata");
  EXPECT_EQ(
      api::to_json(document),
      R"({"apiVersion":"v1","kind":"Event","involvedObject":{"kind":"ConfigMap","namespace":"default","name":"a",)"
      R"("uid":"u-a","apiVersion":"v1","resourceVersion":"7"},"reason":"FailedScheduling",)"
      R"("message":"0/4 nodes are available","source":{"component":"default-scheduler"},)"
      R"("firstTimestamp":"2023-11-14T22:13:20Z","lastTimestamp":"2023-11-14T22:13:20Z","count":1,)"
      R"("type":"Warning","eventTime":null,"reportingComponent":"default-scheduler","reportingInstance":""})");
}

TEST_F(EventsTest, AnEqualEventRaisesTheCount) {
  record("R", "m");
  pass(Duration::minutes(5));
  record("R", "m");
  record("R", "m");
  record("R", "other");
  record("R", "m", "b");
  EXPECT_THAT(messages(), UnorderedElementsAre("m x3", "other x1", "m x1"));
  for (const api::Object& event : registry.list({.kind = kEvents}).items) {
    const bool counted = api::find(event.json(), "count")->as_int64() == 3;
    EXPECT_EQ(api::string_at(event.json(), "firstTimestamp"),
              counted ? "2023-11-14T22:13:20Z" : "2023-11-14T22:18:20Z");
    EXPECT_EQ(api::string_at(event.json(), "lastTimestamp"), "2023-11-14T22:18:20Z");
  }
}

TEST_F(EventsTest, TheTenthSimilarEventIsCombined) {
  for (int i = 1; i <= 12; ++i) {
    record("R", fmt::format("m{:02}", i));
  }
  const auto all = messages();
  EXPECT_THAT(all, SizeIs(10));
  EXPECT_THAT(all, ::testing::Contains("(combined from similar events): m12 x3"));
  EXPECT_THAT(all, ::testing::Not(::testing::Contains("m10 x1")));
}

TEST_F(EventsTest, SimilarEventsFarApartAreNotCombined) {
  for (int i = 1; i <= 12; ++i) {
    record("R", fmt::format("m{:02}", i));
    pass(Duration::minutes(11));
  }
  EXPECT_THAT(messages(), ::testing::Each(::testing::EndsWith(" x1")));
}

TEST_F(EventsTest, ASourceMaySayOnlySoMuchAboutOneObject) {
  for (int i = 1; i <= 40; ++i) {
    record("R", "m");
  }
  EXPECT_THAT(messages(), ElementsAre("m x25"));
  pass(Duration::minutes(5));
  record("R", "m");
  record("R", "m");
  EXPECT_THAT(messages(), ElementsAre("m x41"));
}

TEST_F(EventsTest, AnEventThatExpiredIsWrittenAnew) {
  record("R", "m");
  const api::Key key = registry.list({.kind = kEvents}).items.front().key();
  ASSERT_TRUE(registry.remove(kEvents, key, {}, loop.now()));
  record("R", "m");
  EXPECT_THAT(messages(), ElementsAre("m x2"));
  EXPECT_EQ(registry.list({.kind = kEvents}).items.front().key(), key);
}

TEST_F(EventsTest, LongMessagesAreCutBetweenCharacters) {
  record("R", std::string(1023, 'x') + "\u00e9");
  const auto events = registry.list({.kind = kEvents}).items;
  EXPECT_EQ(api::string_at(events[0].json(), "message"), std::string(1023, 'x'));
}

TEST_F(EventsTest, EventsOfClusterScopedObjectsGoToTheDefaultNamespace) {
  const auto node =
      api::Object::parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u"}})");
  EventRecorder kubelet(client, loop, Rng(3), "kubelet", "n");
  kubelet.record(*node, EventType::Normal, "Starting", "Starting kubelet.");
  loop.run_to_idle();
  const auto events = registry.list({.kind = kEvents, .ns = "default"}).items;
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(api::string_at(events[0].json(), "source.host"), "n");
  EXPECT_EQ(api::find_path(events[0].json(), "involvedObject.namespace"), nullptr);
}

TEST_F(EventsTest, EventsGoAnHourAfterTheirLastWrite) {
  record("R", "old");
  pass(Duration::minutes(50));
  record("R", "kept");
  pass(Duration::minutes(20));
  record("R", "new");
  EXPECT_THAT(messages(), UnorderedElementsAre("kept x1", "new x1"));
}

TEST_F(EventsTest, EqualRunsGiveEqualNames) {
  const auto run = [] {
    VirtualLoop turns{TimePoint()};
    store::MemoryStore objects;
    store::Registry rules(objects, Rng(1));
    LocalClient local(rules, turns);
    EventRecorder events(local, turns, Rng(5), "c");
    events.record(config_map("a"), EventType::Normal, "R", "m");
    turns.run_to_idle();
    return rules.list({.kind = kEvents}).items.front().bytes();
  };
  EXPECT_EQ(run(), run());
}

} // namespace
} // namespace berth::client
