#include "berth/store/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::json::value thing(std::string_view name, std::string_view node = "", std::string_view app = "",
                       std::string_view ns = "default") {
  api::json::object labels;
  if (!app.empty()) {
    labels["app"] = app;
  }
  api::json::object spec;
  if (!node.empty()) {
    spec["nodeName"] = node;
  }
  return api::json::object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", api::json::object{{"name", name}, {"namespace", ns}, {"labels", labels}}},
      {"spec", spec}};
}

class MemoryStoreTest : public ::testing::Test {
 protected:
  api::Object put(api::json::value document) {
    const auto meta = api::parse_meta(document).value();
    const auto current = store.get(kPods, {meta.ns, meta.name});
    return store.put(std::move(document), current ? current->meta().resource_version : 0, Check())
        .value();
  }
  void erase(std::string_view name) {
    const auto current = store.get(kPods, {"default", std::string(name)}).value();
    ASSERT_TRUE(store.erase(current.json(), current.meta().resource_version));
  }
  Sink sink() {
    return [this](const WatchEvent& event) {
      static constexpr std::string_view kMarks = "+~-.";
      const char mark = kMarks[static_cast<std::size_t>(event.type)];
      seen.push_back(
          event.type == WatchEvent::Type::Bookmark
              ? fmt::format(".@{}", event.resource_version)
              : fmt::format("{}{}@{}", mark, event.object.meta().name, event.resource_version));
    };
  }
  std::unique_ptr<Subscription> watch(ListOptions what, std::uint64_t since = 0) {
    return store.watch({.what = std::move(what), .since = since}, sink()).value();
  }

  MemoryStore store{{.history = 4, .bookmark_every = 5}};
  std::vector<std::string> seen;
};

TEST_F(MemoryStoreTest, OneCounterNumbersEveryWrite) {
  EXPECT_EQ(store.revision(), 1u);
  EXPECT_EQ(put(thing("a")).meta().resource_version, 2u);
  EXPECT_EQ(put(thing("b")).meta().resource_version, 3u);
  EXPECT_EQ(put(thing("a", "n1")).meta().resource_version, 4u);
  erase("a");
  EXPECT_EQ(store.revision(), 5u);
  EXPECT_EQ(store.size(), 1u);
}

TEST_F(MemoryStoreTest, RefusesWritesOverAnotherVersion) {
  const auto a = put(thing("a"));
  EXPECT_EQ(store.put(thing("a"), 0, Check()).error().code, Code::AlreadyExists);
  EXPECT_EQ(store.put(thing("a"), 77, Check()).error().code, Code::Conflict);
  EXPECT_EQ(store.put(thing("b"), 2, Check()).error().code, Code::NotFound);
  EXPECT_EQ(store.erase(thing("a"), 77).error().code, Code::Conflict);
  EXPECT_EQ(store.erase(thing("b"), 2).error().code, Code::NotFound);
  EXPECT_EQ(store.get(kPods, a.key())->bytes(), a.bytes());
  EXPECT_EQ(store.revision(), 2u);
}

TEST_F(MemoryStoreTest, AFailedCheckWritesNothing) {
  auto w = watch({.kind = kPods});
  const Check refuse = [](const api::Object& object) -> Result<void> {
    EXPECT_EQ(object.meta().resource_version, 2u);
    return fail(Code::Forbidden, "no");
  };
  EXPECT_EQ(store.put(thing("a"), 0, refuse).error().message, "no");
  EXPECT_EQ(store.revision(), 1u);
  EXPECT_THAT(seen, IsEmpty());
}

TEST_F(MemoryStoreTest, ListsBySelection) {
  put(thing("b", "n1", "x"));
  put(thing("a", "n2", "x"));
  put(thing("c", "", "y"));
  put(thing("a", "n1", "x", "other"));
  const auto names = [&](const ListOptions& what) {
    std::vector<std::string> out;
    for (const api::Object& object : store.list(what).items) {
      out.push_back(object.key().to_string());
    }
    return out;
  };
  EXPECT_THAT(names({.kind = kPods}),
              ElementsAre("default/a", "default/b", "default/c", "other/a"));
  EXPECT_THAT(names({.kind = kPods, .ns = "default"}),
              ElementsAre("default/a", "default/b", "default/c"));
  EXPECT_THAT(names({.kind = kPods, .node = "n1"}), ElementsAre("default/b", "other/a"));
  EXPECT_THAT(names({.kind = kPods, .node = ""}), ElementsAre("default/c"));
  EXPECT_THAT(names({.kind = kPods, .name = "a"}), ElementsAre("default/a", "other/a"));
  EXPECT_THAT(names({.kind = kPods, .ns = "other", .name = "a"}), ElementsAre("other/a"));
  EXPECT_THAT(names({.kind = kPods, .ns = "default", .name = "aa"}), IsEmpty());
  EXPECT_THAT(names({.kind = kPods, .labels = api::parse_selector_text("app=y").value()}),
              ElementsAre("default/c"));
  EXPECT_THAT(names({.kind = kNodes}), IsEmpty());
}

TEST_F(MemoryStoreTest, AWatchHearsOnlyWhatItSelects) {
  auto w = watch({.kind = kPods, .ns = "default"});
  put(thing("a", "", "", "other"));
  put(thing("a"));
  EXPECT_THAT(seen, ElementsAre("+a@3"));
}

TEST_F(MemoryStoreTest, BindingAPodShowsItToItsNodeOnly) {
  auto n1 = watch({.kind = kPods, .node = "n1"});
  put(thing("a"));
  put(thing("a", "n2"));
  EXPECT_THAT(seen, IsEmpty());
  put(thing("b"));
  put(thing("b", "n1"));
  EXPECT_THAT(seen, ElementsAre("+b@5"));
}

TEST_F(MemoryStoreTest, LeavingASelectionShowsAsDeleted) {
  auto w = watch({.kind = kPods, .labels = api::parse_selector_text("app=x").value()});
  put(thing("a", "", "x"));
  put(thing("a", "n", "x"));
  put(thing("a", "n", "y"));
  put(thing("a", "n", "x"));
  EXPECT_THAT(seen, ElementsAre("+a@2", "~a@3", "-a@4", "+a@5"));
}

TEST_F(MemoryStoreTest, TheUnboundPodsAreASelectionToo) {
  auto w = watch({.kind = kPods, .node = ""});
  put(thing("a"));
  put(thing("a", "n1"));
  EXPECT_THAT(seen, ElementsAre("+a@2", "-a@3"));
}

TEST_F(MemoryStoreTest, ADeletedEventHasTheLastStateAndTheDeletionsRevision) {
  put(thing("a", "n1"));
  WatchEvent last;
  auto w = store
               .watch({.what = {.kind = kPods}, .since = 2},
                      [&](const WatchEvent& event) { last = event; })
               .value();
  erase("a");
  EXPECT_EQ(last.type, WatchEvent::Type::Deleted);
  EXPECT_EQ(last.object.meta().resource_version, 3u);
  EXPECT_EQ(node_of(last.object), "n1");
}

TEST_F(MemoryStoreTest, AWatchFromThePastReplaysHistory) {
  put(thing("a"));
  put(thing("b"));
  put(thing("a", "n1"));
  auto w = watch({.kind = kPods}, 2);
  EXPECT_THAT(seen, ElementsAre("+b@3", "~a@4"));
  erase("b");
  EXPECT_THAT(seen, ElementsAre("+b@3", "~a@4", "-b@5"));
}

TEST_F(MemoryStoreTest, AWatchFromTheBeginningShowsWhatIsThere) {
  put(thing("b"));
  put(thing("a"));
  erase("b");
  auto w = watch({.kind = kPods}, 0);
  EXPECT_THAT(seen, ElementsAre("+a@3"));
}

TEST_F(MemoryStoreTest, AWatchFromBeforeHistoryIsTooOld) {
  for (int i = 0; i < 6; ++i) {
    put(thing(fmt::format("p{}", i)));
  }
  const auto old = store.watch({.what = {.kind = kPods}, .since = 2}, sink());
  EXPECT_EQ(old.error().code, Code::Expired);
  EXPECT_EQ(old.error().message, "too old resource version: 2 (3)");
  auto w = watch({.kind = kPods}, 3);
  EXPECT_THAT(seen, ElementsAre("+p2@4", "+p3@5", "+p4@6", "+p5@7"));
}

TEST_F(MemoryStoreTest, ABusyKindDoesNotExpireAQuietOne) {
  for (int i = 0; i < 20; ++i) {
    put(thing(fmt::format("p{}", i)));
  }
  EXPECT_TRUE(store.watch({.what = {.kind = kNodes}, .since = 2}, sink()));
}

TEST_F(MemoryStoreTest, AWatchFromTheFutureTimesOut) {
  const auto future = store.watch({.what = {.kind = kPods}, .since = 9}, sink());
  EXPECT_EQ(future.error().code, Code::Timeout);
  EXPECT_EQ(future.error().message, "Too large resource version: 9, current: 1");
}

TEST_F(MemoryStoreTest, ADroppedWatchIsSilentAndMayOutliveTheStore) {
  auto gone = std::make_unique<MemoryStore>();
  auto w = gone->watch({.what = {.kind = kPods}}, sink()).value();
  auto other = gone->watch({.what = {.kind = kPods}}, sink()).value();
  other.reset();
  ASSERT_TRUE(gone->put(thing("a"), 0, Check()));
  EXPECT_THAT(seen, ElementsAre("+a@2"));
  gone.reset();
  w.reset();
}

TEST_F(MemoryStoreTest, BookmarksTellQuietWatchesHowFarTheKindHasCome) {
  auto quiet = watch({.kind = kPods, .node = "n9"});
  auto deaf =
      store.watch({.what = {.kind = kPods, .node = "n8"}, .bookmarks = false}, sink()).value();
  for (int i = 0; i < 10; ++i) {
    put(thing("p"));
  }
  EXPECT_THAT(seen, ElementsAre(".@6", ".@11"));
}

} // namespace
} // namespace berth::store
