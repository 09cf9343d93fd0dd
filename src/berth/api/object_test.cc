#include "berth/api/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "berth/api/json.h"

namespace berth::api {
namespace {

using testing::ElementsAre;

constexpr std::string_view kFull =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"x","uid":"u-1",)"
    R"("resourceVersion":"42","generation":3,"labels":{"a":"1"},"annotations":{"b":"2"},)"
    R"("ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u-2"},)"
    R"({"apiVersion":"v1","kind":"Pod","name":"p","uid":"u-3","controller":true,"blockOwnerDeletion":true}],)"
    R"("finalizers":["f/g"],"creationTimestamp":"2026-01-02T03:04:05Z","deletionGracePeriodSeconds":30},)"
    R"("spec":{"replicas":2,"ratio":0.1}})";

Object object(std::string_view text) {
  auto made = Object::parse(std::string(text));
  EXPECT_TRUE(made.has_value()) << berth::to_string(made.error());
  return made.value_or(Object());
}

TEST(Object, KeepsEveryByteOfItsDocument) {
  const Object deployment = object(kFull);
  EXPECT_EQ(deployment.bytes(), kFull);
  EXPECT_EQ(object(deployment.bytes()).json(), deployment.json());
  EXPECT_EQ(object(" { \"kind\" : \"A\",\n \"apiVersion\":\"b\" } ").bytes(),
            R"({"kind":"A","apiVersion":"b"})");
}

TEST(Object, ReadsItsMetadata) {
  const Object deployment = object(kFull);
  EXPECT_EQ(deployment.gvk(), (GroupVersionKind{"apps", "v1", "Deployment"}));
  const ObjectMeta& meta = deployment.meta();
  EXPECT_EQ(meta.ns, "x");
  EXPECT_EQ(meta.resource_version, 42U);
  EXPECT_EQ(meta.generation, 3);
  EXPECT_EQ(meta.labels.at("a"), "1");
  EXPECT_EQ(meta.annotations.at("b"), "2");
  EXPECT_THAT(meta.finalizers, ElementsAre("f/g"));
  EXPECT_EQ(meta.creation_timestamp, TimePoint::from_unix_seconds(1767323045));
  EXPECT_FALSE(meta.deletion_timestamp.has_value());
  EXPECT_EQ(meta.deletion_grace_period_seconds, 30);
  ASSERT_NE(meta.controller(), nullptr);
  EXPECT_EQ(meta.controller()->name, "p");
  EXPECT_EQ(deployment.key().to_string(), "x/d");
  EXPECT_EQ(deployment.ref(), (Ref{"apps", "Deployment", {"x", "d"}}));
}

TEST(Object, NullMetadataFieldsAreAbsent) {
  const Object pod = object(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","creationTimestamp":null,"labels":null,)"
      R"("annotations":{"k":null}}})");
  EXPECT_FALSE(pod.meta().creation_timestamp.has_value());
  EXPECT_EQ(pod.meta().annotations.at("k"), "");
  EXPECT_EQ(pod.meta().controller(), nullptr);
  EXPECT_EQ(pod.key().to_string(), "a");
}

TEST(Object, VersionsThatAreNoNumbersCountAsNotStored) {
  EXPECT_EQ(object(R"({"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"abc"}})")
                .meta()
                .resource_version,
            0U);
}

struct BadCase {
  std::string given;
  std::string want;
};

class ObjectBad : public testing::TestWithParam<BadCase> {};

TEST_P(ObjectBad, NamesTheField) {
  const auto made = Object::parse(GetParam().given);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Invalid);
  EXPECT_EQ(berth::to_string(made.error()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ObjectBad,
    testing::Values(
        BadCase{"{}", "kind: a Kubernetes object needs kind"},
        BadCase{"[]", "expected a map, got a list"},
        BadCase{"{", "line 1:2: the json text ends too early"},
        BadCase{R"({"kind":"Pod"})", "apiVersion: a Kubernetes object needs apiVersion"},
        BadCase{R"({"kind":"","apiVersion":"v1"})", "kind: a Kubernetes object needs kind"},
        BadCase{
            R"({"kind":"Pod","apiVersion":"v1","metadata":{"ownerReferences":[{"controller":"yes"}]}})",
            "metadata.ownerReferences[0].controller: expected true or false, got a string: "
            "\"yes\""},
        BadCase{R"({"kind":"Pod","apiVersion":"v1","metadata":{"deletionTimestamp":"soon"}})",
                "metadata.deletionTimestamp: not an RFC 3339 time: \"soon\""},
        BadCase{R"({"kind":"Pod","apiVersion":"v1","metadata":{"finalizers":"f"}})",
                "metadata.finalizers: expected a list, got a string: \"f\""},
        BadCase{R"({"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":7}})",
                "metadata.resourceVersion: expected a string, got a number: 7"}));

TEST(Object, EditMakesANewVersion) {
  const Object before =
      object(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"z":1,"b":2})");
  const std::string bytes = before.bytes();
  const Object after = before.edit([](json::object& document) {
    object_at(document, "metadata")["resourceVersion"] = "9";
    document["b"] = 3;
  });
  EXPECT_EQ(
      after.bytes(),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"9"},"z":1,"b":3})");
  EXPECT_EQ(after.meta().resource_version, 9U);
  EXPECT_EQ(before.bytes(), bytes);
  EXPECT_EQ(before.meta().resource_version, 0U);
}

TEST(Object, CopiesShareOneVersion) {
  const Object a = object(kFull);
  const Object b = a;
  EXPECT_EQ(&a.meta(), &b.meta());
  EXPECT_TRUE(static_cast<bool>(b));
  EXPECT_FALSE(static_cast<bool>(Object()));
}

int decode_calls = 0;
Result<std::shared_ptr<const int>> count_decoding(const json::value&) {
  ++decode_calls;
  return std::make_shared<const int>(decode_calls);
}
Result<std::shared_ptr<const std::string>> always_fail(const json::value&) {
  ++decode_calls;
  return fail(Code::Invalid, "no");
}

TEST(Object, DecodesAViewOncePerVersion) {
  decode_calls = 0;
  const Object a = object(kFull);
  const Object b = a;
  EXPECT_EQ(**a.view<int>(&count_decoding), 1);
  EXPECT_EQ(**b.view<int>(&count_decoding), 1);
  EXPECT_EQ(**a.edit([](json::object&) {}).view<int>(&count_decoding), 2);
  EXPECT_FALSE(a.view<std::string>(&always_fail).has_value());
  EXPECT_FALSE(a.view<std::string>(&always_fail).has_value())
      << "failures are not remembered as views";
  EXPECT_EQ(decode_calls, 4);
}

TEST(Object, CopiesOfItsDocumentUsePlainMemory) {
  const Object a = object(kFull);
  const json::value copy = a.json();
  EXPECT_EQ(copy.storage().get(), json::storage_ptr().get())
      << "an arena would grow with every copy";
}

TEST(Owners, AControllerReplacesTheOldOne) {
  json::value document = *parse_json(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","ownerReferences":[{"name":"old","controller":true},{"name":"kept"}]}})");
  set_controller(document.as_object(), object(kFull));
  const auto meta = parse_meta(document);
  ASSERT_TRUE(meta.has_value());
  ASSERT_EQ(meta->owner_references.size(), 2U);
  EXPECT_EQ(meta->owner_references[0].name, "kept");
  EXPECT_EQ(*meta->controller(), controller_ref(object(kFull)));
  EXPECT_EQ(meta->controller()->api_version, "apps/v1");
  EXPECT_TRUE(meta->controller()->block_owner_deletion);
}

TEST(Owners, AreAddedToBareDocuments) {
  json::object document;
  set_controller(document, object(kFull));
  EXPECT_EQ(parse_meta(document)->controller()->uid, "u-1");
}

struct NameView {
  std::string name;
};

TEST(Object, ThreadsThatShareItSeeTheSameBytesAndTheSameView) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 200; ++round) {
    const Object shared = object(kFull);
    std::latch start(kThreads);
    std::array<const std::string*, kThreads> bytes{};
    std::array<std::shared_ptr<const NameView>, kThreads> views;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i, mine = shared] {
        start.arrive_and_wait();
        bytes.at(i) = &mine.bytes();
        views.at(i) = *mine.view<NameView>(
            [](const json::value& document) -> Result<std::shared_ptr<const NameView>> {
              return std::make_shared<const NameView>(
                  NameView{std::string(string_at(document, "metadata.name"))});
            });
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (std::size_t i = 0; i < kThreads; ++i) {
      EXPECT_EQ(*bytes.at(i), kFull);
      EXPECT_EQ(views.at(i)->name, "d");
      EXPECT_EQ(views.at(i), views.front());
      EXPECT_EQ(bytes.at(i), bytes.front());
    }
  }
}

} // namespace
} // namespace berth::api
