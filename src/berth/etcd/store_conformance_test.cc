// What every Store promises, asked of each: in memory, in a journal, in etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/etcd/endpoints.h"
#include "berth/etcd/etcd_store.h"
#include "berth/store/document.h"
#include "berth/store/journaled_store.h"
#include "berth/testing/etcd_server.h"

namespace berth::etcd {
namespace {

using store::Check;
using store::GroupKind;
using store::ListOptions;
using store::WatchEvent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Kind { Memory, Journaled, Etcd };

constexpr std::size_t kHistory = 32;
const store::MemoryStore::Options kSmall{.history = kHistory, .bookmark_every = 16};
const GroupKind kMaps{"", "ConfigMap"};

api::json::value map(std::string_view name, std::string_view value = "1",
                     std::string_view ns = "default") {
  return api::json::object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata",
       api::json::object{{"name", name}, {"namespace", ns}, {"labels", {{"value", value}}}}},
      {"data", api::json::object{{"a", value}}}};
}

std::string value_of(const api::Object& object) {
  return std::string(api::string_at(object.json(), "data.a"));
}

/// The one etcd of this program.
berth::testing::EtcdServer& etcd() {
  static berth::testing::EtcdServer server("conformance", ::testing::TempDir());
  static const bool started = server.start();
  EXPECT_TRUE(started) << "etcd does not come up";
  return server;
}

class StoreConformance : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::Etcd && !berth::testing::EtcdServer::at_hand()) {
      GTEST_SKIP() << "there is no etcd on the PATH (Debian: etcd-server)";
    }
    name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(name, '/', '-');
    file = std::filesystem::path(::testing::TempDir()) / ("conformance-" + name + ".db");
    remove_files();
    store = open();
  }
  void TearDown() override {
    watches.clear();
    store.reset();
    remove_files();
  }
  void remove_files() const {
    for (const std::string_view end : {"", "-wal", "-shm", "-lock"}) {
      std::filesystem::remove(file.string() + std::string(end));
    }
  }

  std::unique_ptr<store::Store> open() {
    switch (GetParam()) {
    case Kind::Memory:
      return std::make_unique<store::MemoryStore>(kSmall);
    case Kind::Journaled: {
      auto opened = store::JournaledStore::open(loop, file.string(), nullptr, kSmall);
      EXPECT_TRUE(opened.has_value());
      return *std::move(opened);
    }
    case Kind::Etcd: {
      auto opened = EtcdStore::open(
          loop,
          {.endpoints = *parse_endpoints(etcd().url()), .prefix = "/" + name, .mirror = kSmall});
      EXPECT_TRUE(opened.has_value()) << (opened ? "" : to_string(opened.error()));
      return *std::move(opened);
    }
    }
    return nullptr;
  }

  api::Object put(api::json::value document) {
    const auto meta = *api::parse_meta(document);
    const auto current = store->get(kMaps, {meta.ns, meta.name});
    return store->put(std::move(document), current ? current->meta().resource_version : 0, Check())
        .value();
  }
  api::Object erase(std::string_view which) {
    const auto current = store->get(kMaps, {"default", std::string(which)}).value();
    return store->erase(store::editable(current.json()), current.meta().resource_version).value();
  }

  store::Sink sink() {
    return [this](const WatchEvent& event) {
      static constexpr std::string_view kMarks = "+~-.";
      if (event.type == WatchEvent::Type::Bookmark) {
        bookmarks.push_back(event.resource_version);
        return;
      }
      seen.push_back(fmt::format("{}{}", kMarks[static_cast<std::size_t>(event.type)],
                                 event.object.meta().name));
      versions.push_back(event.resource_version);
    };
  }
  void watch(std::uint64_t since, ListOptions what = {.kind = kMaps}) {
    auto watching = store->watch({.what = std::move(what), .since = since}, sink());
    ASSERT_TRUE(watching.has_value()) << to_string(watching.error());
    watches.push_back(*std::move(watching));
  }

  net::AsioLoop loop;
  std::string name;
  std::filesystem::path file;
  std::unique_ptr<store::Store> store;
  std::vector<std::unique_ptr<store::Subscription>> watches;
  std::vector<std::string> seen;
  std::vector<std::uint64_t> versions;
  std::vector<std::uint64_t> bookmarks;
};

TEST_P(StoreConformance, WritesAreNumberedUpwards) {
  std::uint64_t last = store->revision();
  EXPECT_GE(last, 1u);
  const auto numbered = [&](const api::Object& object) {
    EXPECT_GT(object.meta().resource_version, last);
    last = object.meta().resource_version;
    EXPECT_EQ(store->revision(), last);
  };
  numbered(put(map("a")));
  numbered(put(map("b")));
  numbered(put(map("a", "2")));
  numbered(erase("b"));
  numbered(put(map("b", "3")));
}

TEST_P(StoreConformance, WhatIsWrittenIsReadAtOnce) {
  const api::Object a = put(map("a"));
  EXPECT_EQ(store->get(kMaps, {"default", "a"})->bytes(), a.bytes());
  put(map("a", "2"));
  EXPECT_EQ(value_of(*store->get(kMaps, {"default", "a"})), "2");
  EXPECT_FALSE(store->get(kMaps, {"other", "a"}).has_value());
  EXPECT_FALSE(store->get({"x", "ConfigMap"}, {"default", "a"}).has_value());
  erase("a");
  EXPECT_FALSE(store->get(kMaps, {"default", "a"}).has_value());
}

TEST_P(StoreConformance, AWriteReplacesTheVersionItNamesAndNoOther) {
  const auto a = put(map("a"));
  const std::uint64_t before = store->revision();
  const std::uint64_t version = a.meta().resource_version;
  EXPECT_EQ(store->put(map("a", "2"), 0, Check()).error().code, Code::AlreadyExists);
  EXPECT_EQ(store->put(map("a", "2"), version + 1, Check()).error().code, Code::Conflict);
  EXPECT_EQ(store->put(map("b", "2"), version, Check()).error().code, Code::NotFound);
  EXPECT_EQ(store->erase(map("a"), version + 1).error().code, Code::Conflict);
  EXPECT_EQ(store->erase(map("b"), version).error().code, Code::NotFound);
  EXPECT_EQ(store->erase(map("a"), 0).error().code, Code::NotFound);
  EXPECT_EQ(store->revision(), before);
  EXPECT_EQ(store->get(kMaps, {"default", "a"})->bytes(), a.bytes());
  ASSERT_TRUE(store->put(map("a", "2"), version, Check()));
  EXPECT_EQ(store->put(map("a", "3"), version, Check()).error().code, Code::Conflict);
}

TEST_P(StoreConformance, ACheckThatFailsWritesNothing) {
  watch(store->revision());
  const Check refuse = [&](const api::Object& object) -> Result<void> {
    EXPECT_EQ(object.meta().name, "a");
    EXPECT_GT(object.meta().resource_version, store->revision());
    return fail(Code::Forbidden, "no");
  };
  EXPECT_EQ(store->put(map("a"), 0, refuse).error().message, "no");
  EXPECT_FALSE(store->get(kMaps, {"default", "a"}).has_value());
  EXPECT_THAT(seen, IsEmpty());
}

TEST_P(StoreConformance, AListIsOfOneRevisionInOrder) {
  put(map("b", "x"));
  put(map("a", "x", "other"));
  put(map("a", "y"));
  const auto list = store->list({.kind = kMaps});
  EXPECT_EQ(list.resource_version, store->revision());
  std::vector<std::string> names;
  for (const api::Object& object : list.items) {
    names.push_back(object.key().to_string());
  }
  EXPECT_THAT(names, ElementsAre("default/a", "default/b", "other/a"));
  EXPECT_EQ(store->list({.kind = kMaps, .ns = "other"}).items.size(), 1u);
  EXPECT_EQ(
      store->list({.kind = kMaps, .labels = *api::parse_selector_text("value=x")}).items.size(),
      2u);
  // What was listed stays as it was.
  erase("a");
  EXPECT_EQ(list.items.size(), 3u);
  // A watch from the list's revision has what came since.
  watch(list.resource_version);
  EXPECT_THAT(seen, ElementsAre("-a"));
}

TEST_P(StoreConformance, AWatchShowsEveryChangeOnceAndInOrder) {
  put(map("old"));
  const std::uint64_t from = store->revision();
  put(map("a"));
  put(map("a", "2"));
  watch(from);
  put(map("b"));
  erase("a");
  put(map("a"));
  EXPECT_THAT(seen, ElementsAre("+a", "~a", "+b", "-a", "+a"));
  EXPECT_TRUE(std::ranges::is_sorted(versions));
  EXPECT_EQ(std::set(versions.begin(), versions.end()).size(), versions.size());
  EXPECT_EQ(versions.back(), store->revision());
}

TEST_P(StoreConformance, AWatchFromNowhereShowsWhatIsThereFirst) {
  put(map("b"));
  put(map("a"));
  erase("b");
  watch(0);
  put(map("c"));
  EXPECT_THAT(seen, ElementsAre("+a", "+c"));
}

TEST_P(StoreConformance, LeavingASelectionShowsAsDeleted) {
  watch(store->revision(), {.kind = kMaps, .labels = *api::parse_selector_text("value=x")});
  put(map("a", "x"));
  put(map("a", "y"));
  put(map("a", "x"));
  erase("a");
  EXPECT_THAT(seen, ElementsAre("+a", "-a", "+a", "-a"));
}

TEST_P(StoreConformance, ARemovalShowsTheLastStateWithTheRemovalsNumber) {
  put(map("a", "7"));
  const std::uint64_t from = store->revision();
  WatchEvent last;
  auto watching = store->watch({.what = {.kind = kMaps}, .since = from},
                               [&](const WatchEvent& event) { last = event; });
  const api::Object gone = erase("a");
  EXPECT_EQ(last.type, WatchEvent::Type::Deleted);
  EXPECT_EQ(value_of(last.object), "7");
  EXPECT_EQ(last.object.meta().resource_version, gone.meta().resource_version);
  EXPECT_GT(gone.meta().resource_version, from);
}

TEST_P(StoreConformance, BeforeHistoryItIsTooLateAndAfterThePresentTooEarly) {
  put(map("a"));
  const std::uint64_t early = store->revision();
  for (std::size_t i = 0; i < kHistory + 2; ++i) {
    put(map("a", fmt::to_string(i)));
  }
  const auto old = store->watch({.what = {.kind = kMaps}, .since = early}, sink());
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().code, Code::Expired);
  EXPECT_THAT(old.error().message, ::testing::StartsWith("too old resource version: "));
  const auto future =
      store->watch({.what = {.kind = kMaps}, .since = store->revision() + 1000}, sink());
  ASSERT_FALSE(future.has_value());
  EXPECT_EQ(future.error().code, Code::Timeout);
}

TEST_P(StoreConformance, QuietWatchesHearHowFarTheirKindHasCome) {
  watch(store->revision(), {.kind = kMaps, .ns = "elsewhere"});
  for (int i = 0; i < 16; ++i) {
    put(map("a", fmt::to_string(i)));
  }
  EXPECT_THAT(seen, IsEmpty());
  EXPECT_THAT(bookmarks, ElementsAre(store->revision()));
}

TEST_P(StoreConformance, LargeObjectsAndAnyTextComeBackWhole) {
  const std::string large(400'000, 'x');
  put(map("large", large));
  const std::string odd = "\"\\\n\t\x01 ä 漢 \xF0\x9F\x9A\xA2";
  put(map("odd", odd));
  EXPECT_EQ(value_of(*store->get(kMaps, {"default", "large"})).size(), large.size());
  EXPECT_EQ(value_of(*store->get(kMaps, {"default", "odd"})), odd);
  if (GetParam() != Kind::Memory) {
    store.reset();
    store = open();
    EXPECT_EQ(value_of(*store->get(kMaps, {"default", "large"})).size(), large.size());
    EXPECT_EQ(value_of(*store->get(kMaps, {"default", "odd"})), odd);
  }
}

TEST_P(StoreConformance, WhatOutlivesTheStoreHasItsVersionsAndGoesOn) {
  if (GetParam() == Kind::Memory) {
    return;
  }
  const api::Object a = put(map("a"));
  put(map("b"));
  erase("b");
  const std::uint64_t last = store->revision();
  store.reset();
  store = open();
  EXPECT_EQ(store->revision(), last);
  EXPECT_EQ(store->get(kMaps, {"default", "a"})->bytes(), a.bytes());
  EXPECT_FALSE(store->get(kMaps, {"default", "b"}).has_value());
  EXPECT_EQ(store->watch({.what = {.kind = kMaps}, .since = last - 1}, sink()).error().code,
            Code::Expired);
  watch(last);
  put(map("c"));
  EXPECT_THAT(seen, ElementsAre("+c"));
}

TEST_P(StoreConformance, WatchesMayOutliveTheStore) {
  watch(store->revision());
  put(map("a"));
  store.reset();
  watches.clear();
  EXPECT_THAT(seen, ElementsAre("+a"));
}

std::string text_of(const ::testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::Memory ? "memory" : info.param == Kind::Journaled ? "journal" : "etcd";
}
INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance,
                         ::testing::Values(Kind::Memory, Kind::Journaled, Kind::Etcd), text_of);

} // namespace
} // namespace berth::etcd
