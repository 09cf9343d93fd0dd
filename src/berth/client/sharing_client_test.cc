#include "berth/client/sharing_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/faulty_client.h"
#include "berth/client/informer.h"
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

/// Counts what reaches the server.
class Counting final : public PassingClient {
 public:
  using PassingClient::PassingClient;

  void list(const ListOptions& what, Done<ObjectList> done) override {
    ++lists;
    PassingClient::list(what, std::move(done));
  }
  std::unique_ptr<Watch> watch(const WatchOptions& options,
                               std::function<void(Result<WatchEvent>)> on_event) override {
    ++watches;
    return std::make_unique<Counted>(*this, PassingClient::watch(options, std::move(on_event)));
  }

  int lists = 0;
  int watches = 0;
  int ended = 0;

 private:
  class Counted final : public Watch {
   public:
    Counted(Counting& by, std::unique_ptr<Watch> held) : by_(by), held_(std::move(held)) {}
    ~Counted() override { ++by_.ended; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    Counting& by_;
    std::unique_ptr<Watch> held_;
  };
};

Informer::OnChange follow(Chain& chain) {
  return [&chain](const api::Object& old, const api::Object& now) { chain(old, now); };
}

class SharedInformers : public ::testing::Test {
 protected:
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  LocalClient local{registry, loop};
  Counting server{local};
  SharingClient client{server};
  Chain first;
  Chain second;

  void create(const std::string& name) {
    ASSERT_TRUE(registry.create(config_map(name, "1"), loop.now()));
  }
  std::unique_ptr<Informer> inform(Chain& told) {
    return std::make_unique<Informer>(client, loop, ListOptions{.kind = kConfigMaps}, follow(told));
  }
};

TEST_F(SharedInformers, OfOneSelectionListAndWatchOnce) {
  create("a");
  const auto one = inform(first);
  const auto two = inform(second);
  loop.run_to_idle();
  create("b");
  loop.run_to_idle();
  EXPECT_THAT(first.story, ElementsAre("a:0>2", "b:0>4"));
  EXPECT_EQ(second.story, first.story);
  EXPECT_EQ(server.lists, 1);
  EXPECT_EQ(server.watches, 1);
  EXPECT_EQ(&one->all(), &two->all()) << "kept once";
}

TEST_F(SharedInformers, OfDifferentSelectionsAreApart) {
  const auto all = inform(first);
  const Informer named(client, loop, {.kind = kConfigMaps, .ns = {}, .labels = {}, .name = "b"},
                       follow(second));
  create("a");
  create("b");
  loop.run_to_idle();
  EXPECT_EQ(all->all().size(), 2U);
  EXPECT_EQ(named.all().size(), 1U);
  EXPECT_EQ(server.watches, 2);
}

TEST_F(SharedInformers, WhoComesLateIsToldEverythingInALaterTaskAndSeesNothingBefore) {
  create("a");
  const auto one = inform(first);
  loop.run_to_idle();
  const auto two = inform(second);
  bool synced = false;
  two->on_sync([&] {
    synced = true;
    EXPECT_THAT(second.story, ElementsAre("a:0>2"));
  });
  EXPECT_FALSE(two->synced());
  EXPECT_THAT(two->all(), IsEmpty());
  EXPECT_EQ(two->find({"default", "a"}), nullptr);
  loop.run_to_idle();
  EXPECT_TRUE(synced);
  EXPECT_TRUE(two->synced());
  EXPECT_EQ(server.lists, 1);
  create("b");
  loop.run_to_idle();
  EXPECT_THAT(second.story, ElementsAre("a:0>2", "b:0>4"));
}

TEST_F(SharedInformers, WhoComesWhileOthersAreToldTheFirstListIsToldAllOfIt) {
  create("a");
  create("b");
  std::unique_ptr<Informer> two;
  const Informer one(client, loop, {.kind = kConfigMaps},
                     [&](const api::Object&, const api::Object&) {
                       if (!two) {
                         two = inform(second);
                       }
                     });
  loop.run_to_idle();
  ASSERT_TRUE(two);
  EXPECT_TRUE(two->synced());
  EXPECT_EQ(second.state.size(), 2U);
  EXPECT_EQ(second.story.size(), 2U);
}

TEST_F(SharedInformers, OneMayGoAndTheOthersHearOn) {
  auto one = inform(first);
  const auto two = inform(second);
  loop.run_to_idle();
  one.reset();
  create("a");
  loop.run_to_idle();
  EXPECT_THAT(first.story, IsEmpty());
  EXPECT_THAT(second.story, ElementsAre("a:0>2"));
  EXPECT_EQ(server.ended, 0);
}

TEST_F(SharedInformers, WithTheLastTheWatchEndsAndTheNextListsAnew) {
  auto one = inform(first);
  auto two = inform(second);
  loop.run_to_idle();
  one.reset();
  two.reset();
  EXPECT_EQ(server.ended, 1);
  create("a");
  loop.run_to_idle();
  const auto three = inform(first);
  loop.run_to_idle();
  EXPECT_THAT(first.story, ElementsAre("a:0>2"));
  EXPECT_EQ(server.lists, 2);
}

TEST_F(SharedInformers, ThatEndThemselvesAndBeginAgainInACallbackListAnew) {
  std::unique_ptr<Informer> again;
  std::unique_ptr<Informer> one;
  one = std::make_unique<Informer>(client, loop, ListOptions{.kind = kConfigMaps},
                                   [&](const api::Object&, const api::Object&) {
                                     one.reset();
                                     again = inform(second);
                                   });
  create("a");
  loop.run_to_idle();
  EXPECT_EQ(second.state.size(), 1U);
  EXPECT_EQ(server.lists, 2);
}

/// Informers that come and go over a bad line: in the end each has told what the store holds.
void come_and_go(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store({.history = 8, .bookmark_every = 4});
  store::Registry registry(store, rng.fork(1));
  LocalClient direct(registry, loop);
  FaultyClient line(direct, loop, rng.fork(2), test::bad_line(rng));
  SharingClient client(line);
  struct One {
    Chain told;
    std::unique_ptr<Informer> informer;
  };
  std::map<std::uint64_t, One> ones;
  for (int i = 0; i < 80; ++i) {
    const std::string name = fmt::format("c{}", rng.below(4));
    switch (rng.below(8)) {
    case 0:
      (void)registry.remove(kConfigMaps, {"default", name}, {}, loop.now());
      break;
    case 1:
      line.connected() ? line.disconnect() : line.reconnect();
      break;
    case 2:
    case 3: {
      const std::uint64_t at = rng.below(3);
      if (ones.erase(at) == 0) {
        One& one = ones[at];
        one.informer = std::make_unique<Informer>(client, loop, ListOptions{.kind = kConfigMaps},
                                                  follow(one.told));
      }
      break;
    }
    default:
      if (!registry.create(config_map(name, fmt::to_string(i)), loop.now())) {
        ASSERT_TRUE(
            registry.update(config_map(name, fmt::to_string(i)), Subresource::None, loop.now()));
      }
    }
    loop.run_until(loop.now() + Duration::millis(rng.between(0, 300)));
  }
  line.set_faults({});
  line.reconnect();
  ASSERT_TRUE(loop.run_to_idle(10'000)) << "timers remain";
  std::map<api::Key, std::string> stored;
  for (const api::Object& object : registry.list({.kind = kConfigMaps}).items) {
    stored[object.key()] = object.bytes();
  }
  for (const auto& [at, one] : ones) {
    std::map<api::Key, std::string> held;
    for (const auto& [key, object] : one.told.state) {
      held[key] = object.bytes();
    }
    EXPECT_TRUE(one.informer->synced());
    EXPECT_EQ(held, stored);
  }
}

TEST(SharedInformersUnderFaults, EndWithWhatTheStoreHolds) {
  for (std::uint64_t seed = 1; seed <= 400 && !::testing::Test::HasFailure(); ++seed) {
    come_and_go(seed);
  }
}

} // namespace
} // namespace berth::client
