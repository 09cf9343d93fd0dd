#include "berth/controllers/fresh_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/faulty_client.h"
#include "berth/client/local_client.h"
#include "berth/store/memory_store.h"
#include "berth/testing/seeds.h"

namespace berth::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const client::GroupKind kConfigMaps{"", "ConfigMap"};

api::Key key(std::string_view name) {
  return {"default", std::string(name)};
}

api::Object config_map(std::string_view name, std::string_view value) {
  return api::Object::from_json(
             api::json::object{
                 {"apiVersion", "v1"},
                 {"kind", "ConfigMap"},
                 {"metadata", api::json::object{{"name", name}, {"namespace", "default"}}},
                 {"data", api::json::object{{"value", value}}}})
      .value();
}

std::string_view value_of(const api::Object& object) {
  return api::string_at(object.json(), "data.value");
}

/// A view whose watch is late or worse; writes reach the registry at once.
class FreshViewTest : public ::testing::Test {
 protected:
  void open(const client::Faults& faults, std::uint64_t seed = 1) {
    line.emplace(inner, loop, Rng(seed), faults);
    view.emplace(*line, loop,
                 FreshView::Spec{.what = {.kind = kConfigMaps},
                                 .index_of =
                                     [](const api::Object& object) {
                                       return std::vector{std::string(value_of(object))};
                                     },
                                 .on_change = [this](const api::Object& old,
                                                     const api::Object& now) { told(old, now); }});
  }
  /// What is told forms a chain for each object, and shows in the view.
  void told(const api::Object& old, const api::Object& now) {
    ASSERT_TRUE(old || now);
    const api::Key of = (old ? old : now).key();
    const auto held = chain.find(of);
    ASSERT_EQ(static_cast<bool>(old), held != chain.end()) << of.to_string();
    if (old) {
      ASSERT_EQ(old.meta().resource_version, held->second.meta().resource_version);
      ASSERT_EQ(old.meta().uid, held->second.meta().uid);
    }
    if (now) {
      chain[of] = now;
    } else {
      chain.erase(of);
    }
    const api::Object* shown = view->find(of);
    ASSERT_EQ(static_cast<bool>(now), shown != nullptr) << of.to_string();
  }
  /// The view by its three ways of reading, which must agree with what was told.
  std::vector<std::string> shown() const {
    std::vector<std::string> out;
    auto next = chain.begin();
    for (const auto& [of, object] : view->all()) {
      out.push_back(fmt::format("{}={}", of.name, value_of(object)));
      EXPECT_TRUE(view->keyed(value_of(object)).contains(of));
      EXPECT_EQ(view->find(of)->meta().resource_version, object.meta().resource_version);
      if (next == chain.end()) {
        ADD_FAILURE() << of.to_string() << " is shown and was not told";
        return out;
      }
      EXPECT_EQ(next->first, of);
      EXPECT_EQ(next->second.meta().resource_version, object.meta().resource_version);
      ++next;
    }
    EXPECT_EQ(next, chain.end()) << "told and not shown";
    return out;
  }

  /// A write of the view's owner.
  void write(std::string_view name, std::string_view value) {
    auto written = registry.create(config_map(name, value), loop.now());
    if (!written) {
      written = registry.update(config_map(name, value), client::Subresource::None, loop.now());
    }
    view->wrote(*written);
    EXPECT_EQ(value_of(*view->find(key(name))), value) << "an own write shows at once";
  }
  void remove(std::string_view name) {
    if (const auto left = registry.remove(kConfigMaps, key(name), {}, loop.now())) {
      view->removed(*left);
      const api::Object* shown = view->find(key(name)); // an earlier one, if any
      EXPECT_TRUE(shown == nullptr || shown->meta().uid != left->meta().uid)
          << "an own deletion shows at once";
    }
  }
  void run(Duration span) { loop.run_until(loop.now() + span); }

  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  client::LocalClient inner{registry, loop};
  std::optional<client::FaultyClient> line;
  std::map<api::Key, api::Object> chain;
  std::optional<FreshView> view;
};

TEST_F(FreshViewTest, OwnWritesStandBetweenWhatIsWatchedAndAreToldOnce) {
  open({});
  ASSERT_TRUE(registry.create(config_map("b", "1"), loop.now()));
  run(Duration::seconds(1));
  write("a", "1");
  write("c", "1");
  write("b", "2");
  EXPECT_THAT(shown(), ElementsAre("a=1", "b=2", "c=1"));
  remove("b");
  EXPECT_THAT(shown(), ElementsAre("a=1", "c=1"));
  write("b", "3"); // another of the same name, while the watch shows the first
  EXPECT_THAT(shown(), ElementsAre("a=1", "b=3", "c=1"));
  run(Duration::seconds(1));
  EXPECT_THAT(shown(), ElementsAre("a=1", "b=3", "c=1"));
  EXPECT_THAT(view->keyed("2"), IsEmpty());
}

TEST_F(FreshViewTest, WhatOthersReplaceAndDeleteIsNotBelievedIn) {
  open({});
  write("a", "1");
  ASSERT_TRUE(registry.remove(kConfigMaps, key("a"), {}, loop.now())); // by others, untold
  write("a", "2");
  run(Duration::seconds(1));
  EXPECT_THAT(shown(), ElementsAre("a=2"));
  ASSERT_TRUE(registry.remove(kConfigMaps, key("a"), {}, loop.now()));
  run(Duration::seconds(1));
  EXPECT_THAT(shown(), IsEmpty());
}

class FreshViewOverBadLines : public FreshViewTest,
                              public ::testing::WithParamInterface<std::uint64_t> {};

// Whatever comes late, twice, in another order or not at all: in the end the view is what is
// stored, and on the way own writes show at once.
TEST_P(FreshViewOverBadLines, EndsAsTheStoreAndNeverForgetsAnOwnWrite) {
  const std::uint64_t seed = GetParam();
  Rng rng(seed);
  open({.longest_delay = Duration::seconds(3),
        .failed_read_permille = 100,
        .duplicate_permille = 100,
        .reorder_permille = 200,
        .lose_permille = 20,
        .expire_permille = 20},
       seed);
  for (int step = 0; step < 200 && !HasFatalFailure(); ++step) {
    const std::string name(1, static_cast<char>('a' + rng.below(4)));
    const std::string value = fmt::to_string(rng.below(5));
    switch (rng.below(5)) {
    case 0:
      write(name, value);
      break;
    case 1:
      remove(name);
      break;
    case 2: // others
      if (!registry.create(config_map(name, value), loop.now())) {
        ASSERT_TRUE(
            registry.update(config_map(name, value), client::Subresource::None, loop.now()));
      }
      break;
    case 3:
      (void)registry.remove(kConfigMaps, key(name), {}, loop.now());
      break;
    default:
      run(Duration::millis(rng.between(1, 2000)));
    }
    shown();
  }
  line->set_faults({});
  run(Duration::minutes(5)); // relists and checks of own writes
  std::vector<std::string> stored;
  for (const api::Object& object : registry.list({.kind = kConfigMaps}).items) {
    stored.push_back(fmt::format("{}={}", object.meta().name, value_of(object)));
  }
  EXPECT_EQ(shown(), stored);
}
INSTANTIATE_TEST_SUITE_P(Seeds, FreshViewOverBadLines, test::seeds(60));

} // namespace
} // namespace berth::controllers
