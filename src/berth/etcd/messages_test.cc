// etcd's JSON, and the keys under which objects are kept.
#include "berth/etcd/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/etcd/endpoints.h"
#include "berth/etcd/keys.h"

namespace berth::etcd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EtcdMessages, RequestsAreAsTheGatewayWantsThem) {
  EXPECT_EQ(range_body({.key = "a", .end = "b", .limit = 5, .revision = 7}),
            R"({"key":"YQ==","range_end":"Yg==","limit":"5","revision":"7"})");
  EXPECT_EQ(put_body("a", "v", 3),
            R"({"compare":[{"target":"MOD","result":"EQUAL","key":"YQ==","mod_revision":"3"}],)"
            R"("success":[{"request_put":{"key":"YQ==","value":"dg=="}}],)"
            R"("failure":[{"request_range":{"key":"YQ=="}}]})");
  EXPECT_EQ(put_body("a", "v", 3, {{.key = "g", .expected = 4}}),
            R"({"compare":[{"target":"MOD","result":"EQUAL","key":"YQ==","mod_revision":"3"},)"
            R"({"target":"MOD","result":"EQUAL","key":"Zw==","mod_revision":"4"}],)"
            R"("success":[{"request_put":{"key":"YQ==","value":"dg=="}},)"
            R"({"request_put":{"key":"Zw==","value":""}}],)"
            R"("failure":[{"request_range":{"key":"YQ=="}},{"request_range":{"key":"Zw=="}}]})");
  EXPECT_EQ(watch_body("a", "b", 9),
            R"({"create_request":{"key":"YQ==","range_end":"Yg==","start_revision":"9"}})");
}

TEST(EtcdMessages, ThePrefixEndsBeforeTheNextKey) {
  EXPECT_EQ(end_of("/a/"), "/a0");
  EXPECT_EQ(end_of("a\xff"), "b");
  EXPECT_EQ(end_of("\xff"), std::string(1, '\0'));
}

TEST(EtcdMessages, AnswersAreRead) {
  const auto range = read_range(
      R"({"header":{"revision":"12"},"kvs":[{"key":"YQ==","mod_revision":"9","value":"dg=="}],)"
      R"("more":true,"count":"3"})");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->revision, 12u);
  EXPECT_TRUE(range->more);
  ASSERT_EQ(range->kvs.size(), 1u);
  EXPECT_EQ(range->kvs[0].key, "a");
  EXPECT_EQ(range->kvs[0].value, "v");
  EXPECT_EQ(range->kvs[0].mod_revision, 9u);

  const auto failed =
      read_txn(R"({"header":{"revision":"5"},"responses":[{"response_range":{"kvs":[{"key":"YQ==",)"
               R"("mod_revision":"4"}]}}]})");
  ASSERT_TRUE(failed.has_value());
  EXPECT_FALSE(failed->succeeded);
  EXPECT_EQ(failed->found->mod_revision, 4u);

  const auto overtaken =
      read_txn(R"({"header":{"revision":"9"},"responses":[{"response_range":{}},{"response_range":)"
               R"({"kvs":[{"key":"Zw==","mod_revision":"8"}]}},{"response_range":{}}]})");
  ASSERT_TRUE(overtaken.has_value());
  EXPECT_FALSE(overtaken->found);
  EXPECT_THAT(overtaken->guards, ElementsAre(8u, 0u));

  const auto watch = read_watch(
      R"({"result":{"header":{"revision":"8"},"events":[{"kv":{"key":"YQ==","mod_revision":"7",)"
      R"("value":"dg=="}},{"type":"DELETE","kv":{"key":"YQ==","mod_revision":"8"}}]}})");
  ASSERT_TRUE(watch.has_value());
  ASSERT_EQ(watch->events.size(), 2u);
  EXPECT_EQ(watch->events[0].type, Event::Type::Put);
  EXPECT_EQ(watch->events[1].type, Event::Type::Delete);
  EXPECT_EQ(watch->events[1].kv.mod_revision, 8u);
  EXPECT_EQ(
      read_watch(R"({"result":{"header":{},"canceled":true,"compact_revision":"500"}})")->compacted,
      500u);
}

TEST(EtcdMessages, WhatIsNoneIsAnError) {
  for (const char* text : {"", "[]", "{}", "nonsense", R"({"header":{},"kvs":[{"key":"%"}]})"}) {
    EXPECT_FALSE(read_range(text).has_value()) << text;
  }
  for (const char* text : {"", "[]", "{}", R"({"result":{"events":[{}]}})"}) {
    EXPECT_FALSE(read_watch(text).has_value()) << text;
  }
  EXPECT_FALSE(read_txn("{}").has_value());
}

TEST(EtcdMessages, RefusalsSayWhatEtcdSaid) {
  const Refusal refusal = read_refusal(R"({"error":"x","message":"no leader","code":14})");
  EXPECT_EQ(refusal.code, 14);
  EXPECT_EQ(refusal.message, "no leader");
  EXPECT_EQ(read_refusal("404 page not found").message, "404 page not found");
}

TEST(EtcdLines, ComeWholeHoweverTheyAreCut) {
  Lines lines;
  EXPECT_THAT(lines.add("ab"), IsEmpty());
  EXPECT_THAT(lines.add("c\n\nd\ne"), ElementsAre("abc", "d"));
  EXPECT_THAT(lines.add("\n"), ElementsAre("e"));
}

TEST(EtcdKeys, SayWhatIsThere) {
  const Place pod{.kind = {"", "Pod"}, .key = {"default", "a"}};
  EXPECT_EQ(key_of("/berth", pod), "/berth/objects/-/Pod/default/a");
  const Place role{.kind = {"rbac.authorization.k8s.io", "ClusterRole"}, .key = {"", "system:x"}};
  EXPECT_EQ(key_of("/berth", role),
            "/berth/objects/rbac.authorization.k8s.io/ClusterRole/-/system:x");
  for (const Place& place : {pod, role}) {
    EXPECT_EQ(place_of("/berth", key_of("/berth", place)), place);
  }
  for (const char* other : {"/berth/objects/", "/berth/objects/-/Pod/a", "/other/objects/-/Pod/a/b",
                            "/berth/objects/-/Pod/a/b/c", "/berth/objects/-//a/b"}) {
    EXPECT_EQ(place_of("/berth", other), std::nullopt) << other;
  }
}

} // namespace
} // namespace berth::etcd
