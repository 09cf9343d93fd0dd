#include "berth/client/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/faulty_client.h"
#include "berth/client/informer_fixture.h"
#include "berth/client/local_client.h"
#include "berth/store/memory_store.h"

namespace berth::client {
namespace {

using test::Chain;
using test::config_map;
using test::kConfigMaps;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class InformerTest : public ::testing::Test {
 protected:
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  LocalClient client{registry, loop};
  Chain chain;

  void write(std::string_view name, std::string_view value, std::string_view tier = "web") {
    const auto object = config_map(name, value, tier);
    if (!registry.create(object, loop.now())) {
      ASSERT_TRUE(registry.update(object, Subresource::None, loop.now()));
    }
  }
  void erase(std::string_view name) {
    ASSERT_TRUE(registry.remove(kConfigMaps, {"default", std::string(name)}, {}, loop.now()));
  }
  Informer::OnChange follow() {
    return [this](const api::Object& old, const api::Object& now) { chain(old, now); };
  }
};

TEST_F(InformerTest, ListsThenWatches) {
  write("a", "1");
  Informer informer(client, loop, {.kind = kConfigMaps}, follow());
  bool told = false;
  informer.on_sync([&] {
    told = true;
    EXPECT_TRUE(informer.synced());
    EXPECT_NE(informer.find({"default", "a"}), nullptr);
  });
  EXPECT_FALSE(informer.synced());
  loop.run_to_idle();
  EXPECT_TRUE(told);
  write("b", "1");
  write("a", "2");
  erase("b");
  EXPECT_TRUE(loop.run_to_idle());
  EXPECT_THAT(chain.story, ElementsAre("a:0>2", "b:0>4", "a:2>5", "b:4>0"));
  EXPECT_EQ(informer.all().size(), 1u);
}

TEST_F(InformerTest, OnSyncAfterSyncRunsInALaterTask) {
  Informer informer(client, loop, {.kind = kConfigMaps}, follow());
  loop.run_to_idle();
  bool told = false;
  informer.on_sync([&] { told = true; });
  EXPECT_FALSE(told);
  loop.run_to_idle();
  EXPECT_TRUE(told);
}

TEST_F(InformerTest, CallbacksSeeTheCacheAsOfTheirStep) {
  std::optional<Informer> informer;
  std::vector<std::size_t> sizes;
  informer.emplace(client, loop, ListOptions{.kind = kConfigMaps},
                   [&](const api::Object&, const api::Object& now) {
                     sizes.push_back(informer->all().size());
                     EXPECT_EQ(informer->find({"default", "a"}) != nullptr, static_cast<bool>(now));
                   });
  write("a", "1");
  loop.run_to_idle();
  erase("a");
  loop.run_to_idle();
  EXPECT_THAT(sizes, ElementsAre(1u, 0u));
}

TEST_F(InformerTest, ADestroyedInformerIsSilent) {
  auto informer =
      std::make_unique<Informer>(client, loop, ListOptions{.kind = kConfigMaps}, follow());
  loop.run_to_idle();
  write("a", "1");
  informer.reset();
  EXPECT_TRUE(loop.run_to_idle());
  EXPECT_THAT(chain.story, IsEmpty());
}

TEST_F(InformerTest, MayBeDestroyedByItsOwnCallback) {
  std::unique_ptr<Informer> informer;
  int calls = 0;
  informer = std::make_unique<Informer>(client, loop, ListOptions{.kind = kConfigMaps},
                                        [&](const api::Object&, const api::Object&) {
                                          ++calls;
                                          informer.reset();
                                        });
  write("a", "1");
  write("b", "1");
  loop.run_to_idle();
  EXPECT_EQ(calls, 1);
}

TEST_F(InformerTest, ReconnectsAfterACutAndShowsWhatChangedMeanwhile) {
  FaultyClient line(client, loop, Rng(2), {});
  Informer informer(line, loop, {.kind = kConfigMaps}, follow());
  write("gone", "1");
  write("reborn", "1");
  write("same", "1");
  loop.run_to_idle();
  chain.story.clear();
  line.disconnect();
  erase("gone");
  erase("reborn");
  write("reborn", "1");
  write("new", "1");
  loop.run_until(loop.now() + Duration::minutes(3));
  EXPECT_THAT(chain.story, IsEmpty());
  line.reconnect();
  loop.run_until(loop.now() + Duration::seconds(30));
  EXPECT_THAT(chain.story, ElementsAre("gone:2>0", "new:0>9", "reborn:4>0", "reborn:0>8"));
  EXPECT_EQ(loop.pending(), 0u);
}

TEST_F(InformerTest, BacksOffWhileTheServerIsAway) {
  FaultyClient line(client, loop, Rng(2), {});
  line.disconnect();
  Informer informer(line, loop, {.kind = kConfigMaps}, follow());
  std::vector<std::int64_t> waits;
  while (waits.size() < 8) {
    const TimePoint before = loop.now();
    loop.step();
    if (loop.now() > before) {
      waits.push_back((loop.now() - before).count_millis());
    }
  }
  EXPECT_THAT(waits, ElementsAre(800, 1600, 3200, 6400, 12800, 25600, 30000, 30000));
}

/// The slow, obvious truth: after every fault has passed, the informer holds what the store holds.
void follow_history(std::uint64_t seed, const ListOptions& what) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store({.history = 8, .bookmark_every = 4});
  store::Registry registry(store, rng.fork(1));
  LocalClient direct(registry, loop);
  FaultyClient line(direct, loop, rng.fork(2), test::bad_line(rng));
  Chain chain;
  Informer informer(line, loop, what,
                    [&](const api::Object& old, const api::Object& now) { chain(old, now); });
  for (int i = 0; i < 80; ++i) {
    const std::string name = fmt::format("c{}", rng.below(4));
    const std::string tier = rng.chance(1, 3) ? "db" : "web";
    switch (rng.below(6)) {
    case 0:
      (void)registry.remove(kConfigMaps, {"default", name}, {}, loop.now());
      break;
    case 1:
      if (line.connected()) {
        line.disconnect();
      } else {
        line.reconnect();
      }
      break;
    default:
      if (!registry.create(config_map(name, fmt::to_string(i), tier), loop.now())) {
        ASSERT_TRUE(registry.update(config_map(name, fmt::to_string(i), tier), Subresource::None,
                                    loop.now()));
      }
    }
    loop.run_until(loop.now() + Duration::millis(rng.between(0, 300)));
  }
  line.set_faults({});
  line.reconnect();
  ASSERT_TRUE(loop.run_to_idle(10'000)) << "timers remain";
  ASSERT_TRUE(informer.synced());

  std::map<api::Key, std::string> held;
  for (const auto& [key, object] : chain.state) {
    held[key] = object.bytes();
  }
  std::map<api::Key, std::string> stored;
  for (const api::Object& object : registry.list(what).items) {
    stored[object.key()] = object.bytes();
  }
  EXPECT_EQ(held, stored);
  EXPECT_EQ(informer.all().size(), stored.size());
}

TEST(InformerUnderFaults, EndsWithWhatTheStoreHolds) {
  for (std::uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) {
    follow_history(seed, {.kind = kConfigMaps});
  }
}

TEST(InformerUnderFaults, EndsWithWhatItsSelectorShows) {
  const auto web = api::parse_selector_text("tier=web").value();
  for (std::uint64_t seed = 1000; seed <= 1400 && !::testing::Test::HasFailure(); ++seed) {
    follow_history(seed, {.kind = kConfigMaps, .labels = web});
  }
}

} // namespace
} // namespace berth::client
