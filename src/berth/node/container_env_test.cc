#include "berth/node/container_env.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

api::json::value json_of(std::string_view text) {
  auto parsed = api::parse_json(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *std::move(parsed) : api::json::value();
}

const char* const kPod = R"({
  "metadata": {"name": "p", "namespace": "ns", "uid": "u",
               "labels": {"app": "train", "a.b/c": "dotted"}, "annotations": {"note": "x y"}},
  "spec": {"nodeName": "n1", "serviceAccountName": "sa"}})";
const PodAddress kAddress{.pod_ip = "100.64.1.2", .host_ip = "10.0.0.1"};

struct Field {
  const char* path;
  const char* want;
};

class DownwardField : public ::testing::TestWithParam<Field> {};

TEST_P(DownwardField, IsOfThePod) {
  EXPECT_EQ(downward_field(json_of(kPod), GetParam().path, kAddress), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, DownwardField,
    ::testing::Values(Field{"metadata.name", "p"}, Field{"metadata.namespace", "ns"},
                      Field{"metadata.uid", "u"}, Field{"metadata.labels['app']", "train"},
                      Field{"metadata.labels['a.b/c']", "dotted"},
                      Field{"metadata.labels['none']", ""},
                      Field{"metadata.annotations['note']", "x y"}, Field{"spec.nodeName", "n1"},
                      Field{"spec.serviceAccountName", "sa"}, Field{"status.podIP", "100.64.1.2"},
                      Field{"status.podIPs", "100.64.1.2"}, Field{"status.hostIP", "10.0.0.1"},
                      Field{"status.hostIPs", "10.0.0.1"}, Field{"status.unknown", ""},
                      Field{"", ""}, Field{"metadata.labels['", ""},
                      Field{"metadata.labels['']", ""}, Field{"x[']", ""}));

struct Text {
  const char* text;
  const char* want;
};

class References : public ::testing::TestWithParam<Text> {};

TEST_P(References, AreReplacedWhereKnown) {
  const Environment known{{"A", "1"}, {"LONG_NAME", "two"}, {"A", "3"}, {"R", "$(A)"}};
  EXPECT_EQ(expand_references(GetParam().text, known), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Texts, References,
                         ::testing::Values(Text{"", ""}, Text{"plain", "plain"}, Text{"$(A)", "3"},
                                           Text{"<$(LONG_NAME)|$(A)>", "<two|3>"},
                                           Text{"$(NONE)", "$(NONE)"}, Text{"$$(A)", "$(A)"},
                                           Text{"$$$(A)", "$3"}, Text{"$A", "$A"}, Text{"a$", "a$"},
                                           Text{"$(A", "$(A"}, Text{"$()", "$()"},
                                           Text{"$(A))", "3)"}, Text{"$(R)", "$(A)"},
                                           Text{"$($(A))", "$($(A))"}));

TEST(ContainerEnv, IsInOrderAndSeesWhatCameBefore) {
  const auto container = json_of(R"j({"env": [
      {"name": "A", "value": "1"},
      {"name": "B", "value": "$(A)$(C)"},
      {"name": "C", "value": "3"},
      {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
      {"name": "WHERE", "value": "$(NODE):$(C)"},
      {"name": "EMPTY"}]})j");
  EXPECT_THAT(container_env(json_of(kPod), container, kAddress),
              ElementsAre(Pair("A", "1"), Pair("B", "1$(C)"), Pair("C", "3"), Pair("NODE", "n1"),
                          Pair("WHERE", "n1:3"), Pair("EMPTY", "")));
}

TEST(ContainerEnv, WhatOnlyAClusterKnowsIsLeftOut) {
  const auto env = container_env(json_of(kPod), json_of(R"({"env": [
      {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
      {"name": "M", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}},
      {"name": "R", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]})"),
                                 kAddress);
  EXPECT_THAT(env, IsEmpty());
  EXPECT_THAT(container_env(json_of(kPod), json_of("{}"), kAddress), IsEmpty());
  EXPECT_THAT(container_env(json_of(kPod), json_of(R"({"env": 3})"), kAddress), IsEmpty());
}

} // namespace
} // namespace berth::node
