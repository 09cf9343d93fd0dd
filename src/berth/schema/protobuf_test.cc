// Bodies as typed Go clients send them, written here field by field.
#include "berth/schema/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/rng.h"

namespace berth::schema {
namespace {

using testing::HasSubstr;

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>((value & 0x7F) | 0x80);
  }
  return out + static_cast<char>(value);
}
std::string text(int number, std::string_view bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) +
         std::string(bytes);
}
std::string integer(int number, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}
std::string envelope(std::string_view api_version, std::string_view kind, const std::string& raw) {
  return std::string("k8s\0", 4) + text(1, text(1, api_version) + text(2, kind)) + text(2, raw) +
         text(3, "") + text(4, "");
}
std::string json_of(const std::string& bytes) {
  const auto read = read_protobuf(bytes);
  return read ? api::to_json(*read) : to_string(read.error());
}

/// A pod with a label, a command, a limit, a port by name in an embedded handler, and an emptyDir.
std::string pod() {
  const std::string limits = text(1, text(1, "nvidia.com/gpu") + text(2, text(1, "8")));
  const std::string probe =
      text(1,
           text(2, text(1, "/healthz") + text(2, integer(1, 1) + integer(2, 0) + text(3, "web")))) +
      integer(2, 5);
  const std::string container = text(1, "c") + text(2, "x") + text(3, "sleep") + text(3, "10") +
                                text(8, limits) + text(10, probe);
  const std::string volume = text(1, "v") + text(2, text(2, ""));
  return text(1, text(1, "a") + text(11, text(1, "app") + text(2, "web")) +
                     text(8, integer(1, 1'700'000'000))) +
         text(2, text(1, volume) + text(2, container) + integer(4, 30) +
                     integer(11, 1)); // hostNetwork
}

TEST(Protobuf, APodIsReadFieldByField) {
  const auto read = read_protobuf(envelope("v1", "Pod", pod()));
  ASSERT_TRUE(read.has_value()) << to_string(read.error());
  EXPECT_EQ(api::string_at(*read, "kind"), "Pod");
  EXPECT_EQ(api::string_at(*read, "metadata.labels.app"), "web");
  EXPECT_EQ(api::string_at(*read, "metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
  const auto& container = api::find_path(*read, "spec.containers")->as_array()[0];
  EXPECT_EQ(api::to_json(*api::find(container, "command")), R"(["sleep","10"])");
  EXPECT_EQ(api::to_json(*api::find(container, "resources")),
            R"({"limits":{"nvidia.com/gpu":"8"}})");
  EXPECT_EQ(api::to_json(*api::find(container, "livenessProbe")),
            R"({"httpGet":{"path":"/healthz","port":"web"},"initialDelaySeconds":5})");
  EXPECT_EQ(api::to_json(api::find_path(*read, "spec.volumes")->as_array()[0]),
            R"({"name":"v","emptyDir":{}})");
  EXPECT_EQ(api::to_json(*api::find_path(*read, "spec.hostNetwork")), "true");
}

TEST(Protobuf, NegativeNumbersAndBytesKeepTheirMeaning) {
  EXPECT_THAT(json_of(envelope("scheduling.k8s.io/v1", "PriorityClass",
                               text(1, text(1, "low")) +
                                   integer(2, static_cast<std::uint64_t>(std::int64_t{-5})))),
              HasSubstr(R"("value":-5)"));
  EXPECT_THAT(json_of(envelope("v1", "Secret", text(2, text(1, "k") + text(2, "bytes")))),
              HasSubstr(R"("data":{"k":"Ynl0ZXM="})"));
}

TEST(Protobuf, ListsOfTheirOwnMessagesAreLists) {
  EXPECT_THAT(
      json_of(envelope("authorization.k8s.io/v1", "SubjectAccessReview",
                       text(2, text(5, text(1, "k") + text(2, text(1, "a") + text(1, "b")))))),
      HasSubstr(R"("extra":{"k":["a","b"]})"));
}

TEST(Protobuf, UnknownFieldsAreLeftOut) {
  EXPECT_EQ(json_of(envelope("v1", "Namespace", text(1, text(1, "n")) + text(999, "later"))),
            R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":"n"}})");
}

TEST(Protobuf, WhatCannotBeReadIsRefused) {
  EXPECT_THAT(json_of("{}"), HasSubstr("envelope"));
  EXPECT_THAT(json_of(envelope("v1", "Nonsense", "")), HasSubstr("no kind \"Nonsense\""));
  EXPECT_THAT(json_of(envelope("v1", "Namespace", "\x0a\x7f")), HasSubstr("ends early"));
  EXPECT_THAT(json_of(envelope("v1", "Namespace", std::string(20, '\xff'))),
              HasSubstr("cannot be read"));
}

TEST(Protobuf, DamagedBytesNeverCrash) {
  const std::string whole = envelope("v1", "Pod", pod());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    (void)read_protobuf(whole.substr(0, size));
  }
  Rng rng(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 3; ++change) {
      bytes[4 + rng.below(bytes.size() - 4)] = static_cast<char>(rng.below(256));
    }
    (void)read_protobuf(bytes);
  }
}

} // namespace
} // namespace berth::schema
