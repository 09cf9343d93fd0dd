// One etcd under several stores: what one writes the others see, and what becomes of them when etcd
// goes, comes back, or forgets.
#include "berth/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/etcd/endpoints.h"
#include "berth/etcd/keys.h"
#include "berth/etcd/messages.h"
#include "berth/testing/etcd_server.h"

namespace berth::etcd {
namespace {

using store::Check;
using store::GroupKind;
using store::WatchEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const GroupKind kMaps{"", "ConfigMap"};
constexpr Duration kPatience = Duration::seconds(30);

api::json::value map(std::string_view name, std::string_view value = "1") {
  return api::json::object{{"apiVersion", "v1"},
                           {"kind", "ConfigMap"},
                           {"metadata", api::json::object{{"name", name}, {"namespace", "a"}}},
                           {"data", api::json::object{{"a", value}}}};
}

std::string value_of(const store::Store& store, const std::string& name) {
  const auto object = store.get(kMaps, {"a", name});
  return object ? std::string(api::string_at(object->json(), "data.a")) : "";
}

class EtcdStores : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!berth::testing::EtcdServer::at_hand()) {
      GTEST_SKIP() << "there is no etcd on the PATH (Debian: etcd-server)";
    }
    ASSERT_TRUE(server.start()) << "etcd does not come up";
  }

  std::unique_ptr<EtcdStore> open(net::AsioLoop& on, const std::string& endpoints) {
    auto opened = EtcdStore::open(on, {.endpoints = *parse_endpoints(endpoints)});
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : to_string(opened.error()));
    return *std::move(opened);
  }
  std::unique_ptr<EtcdStore> open() { return open(loop, server.url()); }

  static Result<api::Object> put(EtcdStore& store, std::string_view name,
                                 std::string_view value = "1") {
    const auto current = store.get(kMaps, {"a", std::string(name)});
    return store.put(map(name, value), current ? current->meta().resource_version : 0, Check());
  }

  /// Runs the loop until it is so.
  static ::testing::AssertionResult becomes(net::AsioLoop& on, const std::function<bool()>& so) {
    const TimePoint until = on.now() + kPatience;
    while (!so() && on.now() < until) {
      on.run_for(Duration::millis(10));
    }
    return so() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "it does not";
  }

  berth::testing::EtcdServer server{::testing::UnitTest::GetInstance()->current_test_info()->name(),
                                    ::testing::TempDir()};
  net::AsioLoop loop;
};

TEST_F(EtcdStores, WhatOneWritesTheOtherSees) {
  const auto one = open();
  const auto two = open();
  ASSERT_TRUE(put(*one, "x"));
  EXPECT_TRUE(becomes(loop, [&] { return value_of(*two, "x") == "1"; }));
  EXPECT_EQ(two->get(kMaps, {"a", "x"})->bytes(), one->get(kMaps, {"a", "x"})->bytes());
  ASSERT_TRUE(put(*two, "x", "2"));
  EXPECT_TRUE(becomes(loop, [&] { return value_of(*one, "x") == "2"; }));
  const auto x = *two->get(kMaps, {"a", "x"});
  ASSERT_TRUE(two->erase(map("x", "2"), x.meta().resource_version));
  EXPECT_TRUE(becomes(loop, [&] { return !one->get(kMaps, {"a", "x"}); }));
  EXPECT_EQ(one->revision(), two->revision());
}

TEST_F(EtcdStores, AWriteOverWhatAnotherWroteIsRefusedAndSeenThen) {
  const auto one = open();
  const auto two = open();
  const auto first = *put(*one, "x");
  // The loop does not run: what one writes does not reach two by itself.
  EXPECT_EQ(put(*two, "x", "other").error().code, Code::AlreadyExists);
  EXPECT_EQ(value_of(*two, "x"), "1");
  ASSERT_TRUE(put(*two, "x", "2"));
  EXPECT_EQ(one->put(map("x", "3"), first.meta().resource_version, Check()).error().code,
            Code::Conflict);
  EXPECT_EQ(value_of(*one, "x"), "2");
  ASSERT_TRUE(two->erase(map("x"), two->get(kMaps, {"a", "x"})->meta().resource_version));
  EXPECT_EQ(put(*one, "x", "4").error().code, Code::NotFound);
  EXPECT_FALSE(one->get(kMaps, {"a", "x"}).has_value());
}

TEST_F(EtcdStores, OwnWritesAreSeenAfterThoseThatCameBefore) {
  const auto one = open();
  const auto two = open();
  std::vector<std::string> seen;
  const auto watching =
      *one->watch({.what = {.kind = kMaps}, .since = one->revision()},
                  [&](const WatchEvent& event) { seen.push_back(event.object.meta().name); });
  ASSERT_TRUE(put(*two, "first"));
  ASSERT_TRUE(put(*two, "second"));
  ASSERT_TRUE(put(*one, "third"));
  EXPECT_THAT(seen, ElementsAre("first", "second", "third"));
  loop.run_for(Duration::millis(200)); // the feed brings them again, and nobody is told twice
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(EtcdStores, WritersWhoCompeteLoseNothing) {
  const auto one = open();
  ASSERT_TRUE(put(*one, "count", "0"));
  const auto two = open();
  int conflicts = 0;
  for (int i = 0; i < 60; ++i) {
    EtcdStore& store = i % 3 == 0 ? *one : *two; // each behind the other now and then
    Result<api::Object> written;
    do {
      const auto current = *store.get(kMaps, {"a", "count"});
      const int count = std::stoi(value_of(store, "count"));
      written = store.put(map("count", fmt::to_string(count + 1)), current.meta().resource_version,
                          Check());
      conflicts += written ? 0 : 1;
    } while (!written);
  }
  const auto both = [&] { return value_of(*one, "count") + " " + value_of(*two, "count"); };
  EXPECT_TRUE(becomes(loop, [&] { return both() == "60 60"; })) << both();
  EXPECT_GT(conflicts, 0);
}

TEST_F(EtcdStores, OfWritesUnderOneNameEachKnowsThoseBeforeIt) {
  const auto one = open();
  const auto two = open();
  const auto count = [](EtcdStore& store, std::string_view name,
                        const std::vector<std::string>& names) {
    return store.put_counted(map(name), 0, Check(), names);
  };
  ASSERT_TRUE(count(*one, "x", {"quota/a", "services"}));
  ASSERT_TRUE(count(*two, "other", {"quota/b"})) << "it has nothing to do with the first";
  EXPECT_EQ(value_of(*two, "x"), "1") << "it is in front of an own write";
  ASSERT_TRUE(count(*one, "y", {"quota/a"}));
  EXPECT_EQ(value_of(*two, "y"), "");
  const auto refused = count(*two, "z", {"services", "quota/a"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_EQ(value_of(*two, "y"), "1") << "told with the refusal";
  ASSERT_TRUE(count(*two, "z", {"services", "quota/a"}));
  EXPECT_EQ(one->put_counted(map("z", "other"), 0, Check(), {"quota/c"}).error().code,
            Code::AlreadyExists);
}

TEST_F(EtcdStores, ACreateWhoseAnswerWasLostIsNoConflict) {
  const auto one = open();
  const auto two = open();
  const auto first = *put(*one, "x", "with a uid of its own");
  const auto again = put(*two, "x", "with a uid of its own");
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(again->meta().resource_version, first.meta().resource_version);
}

TEST_F(EtcdStores, AWatchFromWhatAnotherProcessToldGoesOnThere) {
  const auto one = open();
  const auto two = open();
  const auto x = *put(*one, "x");
  std::vector<std::string> seen;
  const auto watching =
      two->watch({.what = {.kind = kMaps}, .since = x.meta().resource_version},
                 [&](const WatchEvent& event) { seen.push_back(event.object.meta().name); });
  ASSERT_TRUE(watching.has_value()) << to_string(watching.error());
  ASSERT_TRUE(put(*two, "y"));
  EXPECT_THAT(seen, ElementsAre("y"));
}

TEST_F(EtcdStores, WithoutEtcdReadsGoOnAndWritesSayWhy) {
  const auto store = open();
  ASSERT_TRUE(put(*store, "x"));
  server.kill();
  const auto refused = put(*store, "y");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("etcd does not answer at " + server.url()));
  EXPECT_EQ(value_of(*store, "x"), "1");
  ASSERT_TRUE(server.start());
  EXPECT_TRUE(becomes(loop, [&] { return put(*store, "y").has_value(); }));
  // And the watch is back too.
  const auto other = open();
  ASSERT_TRUE(put(*other, "z"));
  EXPECT_TRUE(becomes(loop, [&] { return value_of(*store, "z") == "1"; }));
}

TEST_F(EtcdStores, AnEndpointThatIsDeadIsPassedOver) {
  const auto store = open(loop, "http://127.0.0.1:1," + server.url());
  ASSERT_TRUE(put(*store, "x"));
  const auto other = open();
  ASSERT_TRUE(put(*other, "y"));
  EXPECT_TRUE(becomes(loop, [&] { return value_of(*store, "y") == "1"; }));
}

TEST_F(EtcdStores, NoEtcdAtAllIsExplained) {
  const auto none = EtcdStore::open(loop, {.endpoints = *parse_endpoints("http://127.0.0.1:1")});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::Unavailable);
  EXPECT_THAT(to_string(none.error()), HasSubstr("etcd does not answer at http://127.0.0.1:1"));
}

TEST_F(EtcdStores, AfterAGapInHistoryWhatDiffersIsTold) {
  net::AsioLoop elsewhere;
  const auto store = open();
  const auto other = open(elsewhere, server.url());
  ASSERT_TRUE(put(*store, "gone"));
  ASSERT_TRUE(put(*store, "changed"));
  std::vector<std::string> seen;
  const std::uint64_t from = store->revision();
  const auto watching =
      *store->watch({.what = {.kind = kMaps}, .since = from}, [&](const WatchEvent& event) {
        static constexpr std::string_view kMarks = "+~-.";
        seen.push_back(fmt::format("{}{}", kMarks[static_cast<std::size_t>(event.type)],
                                   event.object.meta().name));
      });
  server.kill(); // ends the watch of the store, whose loop does not run
  ASSERT_TRUE(server.start());
  EXPECT_EQ(put(*other, "changed", "x").error().code, Code::AlreadyExists);
  ASSERT_TRUE(put(*other, "changed", "2"));
  ASSERT_TRUE(put(*other, "new"));
  const auto gone = *other->get(kMaps, {"a", "gone"});
  ASSERT_TRUE(other->erase(map("gone"), gone.meta().resource_version));
  Endpoints direct(*parse_endpoints(server.url()), {});
  ASSERT_TRUE(direct.call(kCompactPath, compact_body(other->revision())));

  EXPECT_TRUE(becomes(loop, [&] { return store->revision() == other->revision(); }));
  EXPECT_THAT(seen, ElementsAre("~changed", "+new", "-gone"));
  const auto old = store->watch({.what = {.kind = kMaps}, .since = from}, {});
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().code, Code::Expired);
}

TEST_F(EtcdStores, WhatIsNoObjectIsNamed) {
  Endpoints direct(*parse_endpoints(server.url()), {});
  const std::string key = key_of("/berth", {.kind = kMaps, .key = {"a", "odd"}});
  ASSERT_TRUE(direct.call(kTxnPath, put_body(key, "no JSON", 0)));
  const auto refused = EtcdStore::open(loop, {.endpoints = *parse_endpoints(server.url())});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(to_string(refused.error()),
              HasSubstr("/berth/objects/-/ConfigMap/a/odd cannot be read"));
}

TEST_F(EtcdStores, AnObjectTooLargeForEtcdIsRefusedAsSuch) {
  const auto store = open();
  const auto refused = put(*store, "x", std::string(2'000'000, 'x'));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::RequestEntityTooLarge);
}

TEST(EtcdEndpoints, AreUrlsWithCommasBetween) {
  EXPECT_EQ(parse_endpoints("http://a:1,https://b:2")->size(), 2u);
  for (const char* wrong : {"", "http://a:1,", "ftp://a"}) {
    EXPECT_FALSE(parse_endpoints(wrong).has_value()) << wrong;
  }
}

} // namespace
} // namespace berth::etcd
