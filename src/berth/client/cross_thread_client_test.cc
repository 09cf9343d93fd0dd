#include "berth/client/cross_thread_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/client/informer.h"
#include "berth/client/standing_lease.h"
#include "berth/net/loop_thread.h"
#include "berth/store/memory_store.h"

namespace berth::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const GroupKind kConfigMaps{"", "ConfigMap"};

api::Object config_map(std::string_view name) {
  return api::Object::from_json(
             api::json::object{
                 {"apiVersion", "v1"},
                 {"kind", "ConfigMap"},
                 {"metadata", api::json::object{{"name", name}, {"namespace", "default"}}}})
      .value();
}

/// The registry is the test's thread's; who asks lives on a thread of its own.
class CrossThreadClientTest : public ::testing::Test {
 protected:
  ~CrossThreadClientTest() override { away.stop(); }

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
  /// What was asked for before has happened, here and there, when it returns.
  void settle() {
    away.loop().post_from_any_thread([this] {
      client->get(kConfigMaps, {"default", "none"}, [this](const Result<api::Object>&) {
        loop.post_from_any_thread([this] { loop.stop(); });
      });
    });
    loop.run();
  }
  /// Runs `work` on the other thread, and what comes of it.
  void there(Task work) {
    away.loop().post_from_any_thread(std::move(work));
    settle();
  }
  std::string holder() {
    const auto lease = registry.get(kLeases, {"kube-node-lease", "n1"});
    return lease
               ? fmt::format("{} standing={}", api::string_at(lease->json(), "spec.holderIdentity"),
                             lease->meta().annotations.contains(kStandingAnnotation))
               : "none";
  }

  net::AsioLoop loop;
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  net::LoopThread away;
  std::optional<CrossThreadClient> client{std::in_place, registry, loop, away.loop()};
  std::vector<std::string> story; ///< the other thread's, until it is stopped
};

TEST_F(CrossThreadClientTest, AnswersAndEventsComeInTheOrderInWhichThingsHappened) {
  away.start();
  std::unique_ptr<Watch> watch;
  there([&] {
    watch = client->watch({.what = {.kind = kConfigMaps}}, note_events());
    client->create(config_map("a"), note<api::Object>("created a"));
    client->get(kConfigMaps, {"default", "nope"}, note<api::Object>("got nope"));
    client->list({.kind = kConfigMaps}, note<ObjectList>("listed"));
    client->remove(kConfigMaps, {"default", "a"}, {}, note<api::Object>("removed a"));
    client->create(config_map("nobody listens"), {});
    EXPECT_THAT(story, IsEmpty()) << "nothing is answered in the call";
  });
  away.stop();
  EXPECT_THAT(story, ElementsAre("event a", "created a", "got nope: NotFound", "listed", "event a",
                                 "removed a"));
}

TEST_F(CrossThreadClientTest, EveryKindOfWriteReachesTheRegistry) {
  away.start();
  const auto pod = api::Object::parse(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},)"
      R"("spec":{"containers":[{"name":"c","image":"i"}]}})");
  there([&] {
    client->create(*pod, note<api::Object>("created"));
    client->bind({.pod = {"default", "p"}, .uid = {}, .node = "n1"}, note<api::Object>("bound"));
    client->patch(kPods, {"default", "p"},
                  api::json::object{
                      {"metadata", api::json::object{{"labels", api::json::object{{"a", "b"}}}}}},
                  Subresource::None, note<api::Object>("patched"));
    client->get(kPods, {"default", "p"}, [this](const Result<api::Object>& got) {
      const api::Object running = got->edit([](api::json::object& document) {
        api::object_at(document, "status")["phase"] = "Running";
      });
      client->update(running, Subresource::Status, note<api::Object>("updated"));
    });
  });
  settle();
  away.stop();
  EXPECT_THAT(story, ElementsAre("created", "bound", "patched", "updated"));
  const auto stored = registry.get(kPods, {"default", "p"});
  ASSERT_TRUE(stored);
  EXPECT_EQ(api::string_at(stored->json(), "spec.nodeName"), "n1");
  EXPECT_EQ(api::string_at(stored->json(), "metadata.labels.a"), "b");
  EXPECT_EQ(api::string_at(stored->json(), "status.phase"), "Running");
}

TEST_F(CrossThreadClientTest, AWatchThatIsDroppedTellsNothingMore) {
  away.start();
  there([&] {
    auto watch = client->watch({.what = {.kind = kConfigMaps}}, note_events());
    client->create(config_map("a"), {});
    watch.reset();
    client->create(config_map("b"), {});
  });
  away.stop();
  EXPECT_THAT(story, IsEmpty());
}

TEST_F(CrossThreadClientTest, AWatchFromTheFutureIsOverAtOnce) {
  away.start();
  std::unique_ptr<Watch> watch;
  there([&] {
    watch = client->watch({.what = {.kind = kConfigMaps}, .since = 1'000'000}, note_events());
  });
  away.stop();
  EXPECT_THAT(story, ElementsAre("watch over: Timeout"));
}

TEST_F(CrossThreadClientTest, ALeaseStandsUntilItsHandleGoes) {
  away.start();
  std::unique_ptr<StandingLease> lease;
  there([&] { lease = client->hold_lease({.name = "n1", .holder = "n1"}); });
  EXPECT_EQ(holder(), "n1 standing=true");
  there([&] { lease.reset(); });
  EXPECT_EQ(holder(), "n1 standing=false");
}

TEST_F(CrossThreadClientTest, NothingOfAClientThatIsGoneReachesTheRegistry) {
  away.start();
  std::unique_ptr<Watch> watch;
  there([&] { watch = client->watch({.what = {.kind = kConfigMaps}}, note_events()); });
  away.loop().post_from_any_thread([&] {
    client->create(config_map("late"), note<api::Object>("created"));
    loop.post_from_any_thread([this] { loop.stop(); });
  });
  away.stop(); // before or after that: both are to be as if it had not been
  client.reset();
  ASSERT_TRUE(registry.create(config_map("own"), loop.now()));
  loop.run_for(Duration());
  EXPECT_FALSE(registry.get(kConfigMaps, {"default", "late"}));
  EXPECT_THAT(story, IsEmpty());
}

// What an informer over there holds at the end is what the registry has, though both write all the
// while. Under ThreadSanitizer this says more than what it asserts.
TEST_F(CrossThreadClientTest, AnInformerSeesWhatBothThreadsWrite) {
  constexpr int kEach = 300;
  std::optional<Informer> informer;
  informer.emplace(
      *client, away.loop(), ListOptions{.kind = kConfigMaps},
      [](const api::Object& old, const api::Object& now) { (void)(now ? now : old).bytes(); });
  away.start();
  for (int i = 0; i < kEach; ++i) {
    loop.post([this, i] {
      const auto made = registry.create(config_map(fmt::format("here-{}", i)), loop.now());
      ASSERT_TRUE(made);
      EXPECT_FALSE(made->bytes().empty());
      if (i % 3 == 0) {
        ASSERT_TRUE(registry.remove(kConfigMaps, made->key(), {}, loop.now()));
      }
    });
    away.loop().post_from_any_thread([this, i] {
      client->create(config_map(fmt::format("there-{}", i)), [](const Result<api::Object>& made) {
        ASSERT_TRUE(made);
        EXPECT_FALSE(made->bytes().empty());
      });
    });
  }
  settle();
  settle(); // events that were on their way
  away.stop();
  std::vector<std::string> seen;
  for (const auto& [key, object] : informer->all()) {
    seen.push_back(object.bytes());
  }
  std::vector<std::string> stored;
  for (const api::Object& object : registry.list({.kind = kConfigMaps}).items) {
    stored.push_back(object.bytes());
  }
  EXPECT_EQ(stored.size(), 2 * kEach - kEach / 3);
  EXPECT_EQ(seen, stored);
  informer.reset();
}

} // namespace
} // namespace berth::client
