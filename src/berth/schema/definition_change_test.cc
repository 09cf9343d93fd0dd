#include "berth/schema/definition_change.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"

namespace berth::schema {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> out;
  for (const FieldError& error : errors) {
    out.push_back(to_string(error));
  }
  return out;
}

std::vector<std::string> paths_of(std::string_view version) {
  return texts(check_version_paths(*api::parse_json(version), "spec"));
}

json::value definition(std::string_view group, std::string_view established) {
  return *api::parse_json(R"({"metadata":{"name":"gangs.example.com"},"spec":{"group":")" +
                          std::string(group) +
                          R"(","scope":"Namespaced","names":{"plural":"gangs","kind":"Gang"},)"
                          R"("versions":[{"name":"v1"}]},"status":{"storedVersions":["v1"],)"
                          R"("conditions":[{"type":"Established","status":")" +
                          std::string(established) + R"("}]}})");
}

TEST(VersionPaths, ScaleLiesUnderSpecAndStatus) {
  EXPECT_THAT(paths_of(R"({"subresources":{"scale":{"specReplicasPath":".spec.replicas",)"
                       R"("statusReplicasPath":".status.replicas",)"
                       R"("labelSelectorPath":".spec.selector"}}})"),
              IsEmpty());
  EXPECT_THAT(paths_of(R"({"subresources":{"scale":{}}})"),
              ElementsAre("spec.subresources.scale.specReplicasPath: Required value",
                          "spec.subresources.scale.statusReplicasPath: Required value"));
  EXPECT_THAT(paths_of(R"({"subresources":{"scale":{"specReplicasPath":".status.replicas",)"
                       R"("statusReplicasPath":".spec.replicas"}}})"),
              ElementsAre("spec.subresources.scale.specReplicasPath: Invalid value: "
                          "\".status.replicas\": should be a json path under .spec",
                          "spec.subresources.scale.statusReplicasPath: Invalid value: "
                          "\".spec.replicas\": should be a json path under .status"));
}

TEST(VersionPaths, SelectableFieldsAreScalars) {
  EXPECT_THAT(
      paths_of(R"({"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{)"
               R"("type":"object","properties":{"color":{"type":"string"}}}}}},)"
               R"("selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.color"},)"
               R"({"jsonPath":".spec"}]})"),
      ElementsAre("spec.selectableFields[1].jsonPath: Duplicate value: \".spec.color\"",
                  "spec.selectableFields[2].jsonPath: Invalid value: \".spec\": must point to a "
                  "field of type string, boolean or integer"));
}

TEST(DefinitionChange, EstablishedNamesStay) {
  const json::value before = definition("example.com", "True");
  json::value now = before;
  EXPECT_THAT(texts(check_definition_change(&before, now)), IsEmpty());
  now.as_object()["spec"].as_object()["scope"] = "Cluster";
  EXPECT_THAT(texts(check_definition_change(&before, now)),
              ElementsAre("spec.scope: Invalid value: \"Cluster\": field is immutable"));
  const json::value fresh = definition("example.com", "False");
  EXPECT_THAT(texts(check_definition_change(&fresh, now)), IsEmpty());
}

} // namespace
} // namespace berth::schema
