#include "berth/node/node_status.h"

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

namespace json = boost::json;

const TimePoint kNow = TimePoint::from_unix_seconds(1'700'000'000);

json::value parsed(std::string_view text) {
  return api::parse_json(text).value();
}

json::value base() {
  return make_base_node(parsed(R"({
      "metadata": {"name": "n1", "uid": "old", "resourceVersion": "5", "labels": {"a": "b"}},
      "status": {"capacity": {"cpu": "4", "nvidia.com/gpu": "8"},
                 "allocatable": {"cpu": "3", "nvidia.com/gpu": "8"},
                 "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                 "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}})"),
                        {{"zone", "z1"}}, {{.key = "k", .value = "v", .effect = "NoSchedule"}},
                        {"nvidia.com/gpu"});
}

NodeFacts facts(std::int64_t capacity = 8, std::int64_t allocatable = 8) {
  return {.devices = {{"nvidia.com/gpu", {capacity, allocatable}}},
          .plugin_resources = {"nvidia.com/gpu"},
          .now = kNow};
}

std::string text(const std::optional<json::value>& patch) {
  return patch ? api::to_json(*patch) : "none";
}

TEST(BaseNode, IsTheAgentsOwn) {
  const json::value node = base();
  EXPECT_EQ(api::to_json(*api::find_path(node, "metadata")),
            R"({"name":"n1","labels":{"a":"b","kubernetes.io/hostname":"n1","zone":"z1"}})");
  EXPECT_EQ(api::to_json(*api::find_path(node, "spec.taints")),
            R"([{"key":"k","effect":"NoSchedule","value":"v"}])");
  EXPECT_EQ(api::to_json(*api::find_path(node, "status.capacity")), R"({"cpu":"4"})")
      << "what only a plugin can give is left out";
}

TEST(BaseNode, AHostnameThatIsGivenStays) {
  const json::value node = make_base_node(
      parsed(R"({"metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "host"}}})"), {},
      {}, {});
  EXPECT_EQ(api::to_json(*api::find_path(node, "metadata.labels")),
            R"({"kubernetes.io/hostname":"host"})");
}

TEST(NewNode, HasTheFactsIn) {
  NodeFacts now = facts(8, 7);
  now.annotations[std::string(model::kUnhealthyGpusAnnotation)] = "3";
  const json::value node = make_new_node(base(), now);
  EXPECT_EQ(api::to_json(*api::find_path(node, "status.capacity")),
            R"({"cpu":"4","nvidia.com/gpu":"8"})");
  EXPECT_EQ(api::to_json(*api::find_path(node, "status.allocatable")),
            R"({"cpu":"3","nvidia.com/gpu":"7"})");
  EXPECT_EQ(api::to_json(*api::find_path(node, "metadata.annotations")),
            R"({"berth.dev/unhealthy-gpus":"3"})");
  const json::value* ready = &api::find_path(node, "status.conditions")->get_array()[0];
  EXPECT_EQ(api::string_at(*ready, "lastTransitionTime"), "2023-11-14T22:13:20Z");
}

TEST(NodePatches, AreNoneWhereNothingDiffers) {
  const json::value node = make_new_node(base(), facts());
  NodeFacts later = facts();
  later.now = kNow + Duration::hours(1);
  const NodePatches patches = node_patches(node, base(), later);
  EXPECT_EQ(text(patches.metadata), "none");
  EXPECT_EQ(text(patches.status), "none");
}

// What the server has stored is what it was told, written its own way.
TEST(NodePatches, AmountsAreComparedNotTheirTexts) {
  const json::value made = parsed(R"({"metadata":{"name":"n"},"status":{
    "capacity":{"memory":"16777216Ki","hugepages-2Mi":"0Ki","cpu":"2000m"},
    "allocatable":{"memory":"1048576Ki"}}})");
  json::value stored = parsed(R"({"metadata":{"name":"n"},"status":{
    "capacity":{"memory":"16Gi","hugepages-2Mi":"0","cpu":"2"},
    "allocatable":{"memory":"1Gi"}}})");
  const auto same = node_patches(stored, made, NodeFacts());
  ASSERT_TRUE(same.status.has_value()) << "conditions";
  EXPECT_EQ(api::find_path(*same.status, "status.capacity"), nullptr);
  EXPECT_EQ(api::find_path(*same.status, "status.allocatable"), nullptr);
  stored.at("status").at("capacity").as_object()["memory"] = "8Gi";
  const auto changed = node_patches(stored, made, NodeFacts());
  EXPECT_EQ(api::string_at(*changed.status, "status.capacity.memory"), "16777216Ki");
}

TEST(NodePatches, NameWhatDiffers) {
  const json::value node = make_new_node(base(), facts());
  NodeFacts now = facts(8, 6);
  now.annotations[std::string(model::kUnhealthyGpusAnnotation)] = "1,2";
  const NodePatches patches = node_patches(node, base(), now);
  EXPECT_EQ(text(patches.metadata),
            R"({"metadata":{"annotations":{"berth.dev/unhealthy-gpus":"1,2"}}})");
  EXPECT_EQ(text(patches.status), R"({"status":{"allocatable":{"cpu":"3","nvidia.com/gpu":"6"}}})");
}

TEST(NodePatches, HealthThatIsNotKnownIsLeftAlone) {
  NodeFacts sick = facts();
  sick.annotations[std::string(model::kUnhealthyGpusAnnotation)] = "3";
  const json::value node = make_new_node(base(), sick);
  EXPECT_EQ(text(node_patches(node, base(), facts()).metadata), "none");
  NodeFacts well = facts();
  well.annotations[std::string(model::kUnhealthyGpusAnnotation)] = "";
  EXPECT_EQ(text(node_patches(node, base(), well).metadata),
            R"({"metadata":{"annotations":{"berth.dev/unhealthy-gpus":null}}})");
}

TEST(NodePatches, WhatOthersAdvertisedIsKeptAndWhatNoPluginGivesIsZero) {
  json::value node = make_new_node(base(), facts());
  node.as_object()["status"].as_object()["capacity"].as_object()["example.com/x"] = "5";
  NodeFacts without = facts();
  without.devices.clear();
  EXPECT_EQ(text(node_patches(node, base(), without).status),
            R"({"status":{"capacity":{"cpu":"4","nvidia.com/gpu":"0","example.com/x":"5"},)"
            R"("allocatable":{"cpu":"3","nvidia.com/gpu":"0"}}})");
}

TEST(NodePatches, WhatAPluginWillNotGiveAgainIsTakenOut) {
  json::value node = make_new_node(base(), facts());
  node.as_object()["status"].as_object()["capacity"].as_object()["example.com/x"] = "5";
  NodeFacts without = facts();
  without.devices.clear();
  without.departed = {"example.com/gone", "nvidia.com/gpu"};
  EXPECT_EQ(text(node_patches(node, base(), without).status),
            R"({"status":{"capacity":{"cpu":"4","nvidia.com/gpu":null,"example.com/x":"5"},)"
            R"("allocatable":{"cpu":"3","nvidia.com/gpu":null}}})");
  for (const char* list : {"capacity", "allocatable"}) {
    node.as_object()["status"].as_object()[list].as_object().erase("nvidia.com/gpu");
  }
  EXPECT_EQ(text(node_patches(node, base(), without).status), "none");
}

TEST(NodePatches, AConditionKeepsItsTimeWhileItsStatusStays) {
  json::value node = make_new_node(base(), facts());
  json::value& ready = node.as_object()["status"].as_object()["conditions"].as_array()[0];
  ready.as_object()["reason"] = "Other";
  NodeFacts later = facts();
  later.now = kNow + Duration::hours(1);
  auto patch = node_patches(node, base(), later).status;
  ASSERT_TRUE(patch);
  const json::value* made = &api::find_path(*patch, "status.conditions")->get_array()[0];
  EXPECT_EQ(api::string_at(*made, "lastTransitionTime"), "2023-11-14T22:13:20Z");
  ready.as_object()["status"] = "Unknown";
  patch = node_patches(node, base(), later).status;
  made = &api::find_path(*patch, "status.conditions")->get_array()[0];
  EXPECT_EQ(api::string_at(*made, "lastTransitionTime"), "2023-11-14T23:13:20Z");
  EXPECT_EQ(api::string_at(*made, "status"), "True");
}

TEST(NodePatches, ConditionsOfOthersAreKept) {
  json::value node = make_new_node(base(), facts());
  node.as_object()["status"].as_object()["conditions"].as_array().push_back(
      json::object{{"type", "Theirs"}, {"status", "True"}});
  EXPECT_EQ(text(node_patches(node, base(), facts()).status), "none");
}

TEST(NodePatches, LabelsAreAddedAndPutRight) {
  json::value node = make_new_node(base(), facts());
  json::object& labels = node.as_object()["metadata"].as_object()["labels"].as_object();
  labels["zone"] = "wrong";
  labels["theirs"] = "stays";
  EXPECT_EQ(text(node_patches(node, base(), facts()).metadata),
            R"({"metadata":{"labels":{"zone":"z1"}}})");
}

TEST(NodePatches, LabelsThatAreFoundLaterComeBeforeTheBases) {
  json::value node = make_new_node(base(), facts());
  json::object& labels = node.as_object()["metadata"].as_object()["labels"].as_object();
  labels["old"] = "1";
  NodeFacts now = facts();
  now.labels = {{"old", ""}, {"absent", ""}, {"zone", "z2"}, {"new", "1"}};
  EXPECT_EQ(text(node_patches(node, base(), now).metadata),
            R"({"metadata":{"labels":{"new":"1","old":null,"zone":"z2"}}})");
}

TEST(NodeResources, AreWhatParses) {
  const auto list = node_resources(
      parsed(R"({"status": {"capacity": {"cpu": "4", "bad": "x", "number": 3}}})"), "capacity");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list.at("cpu").value(), 4);
  EXPECT_TRUE(node_resources(parsed("{}"), "capacity").empty());
}

} // namespace
} // namespace berth::node
