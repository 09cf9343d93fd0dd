// The built-in types against Kubernetes' own OpenAPI documents, which are of version 1.36; what
// changed since 1.34 stands here.
#include "berth/schema/openapi_schema.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/inputs_fixture.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

/// Without descriptions and what says nothing: a list is atomic unless something else is said, and
/// a reference may stand in allOf. Members and required fields in order.
json::value bare(const json::value& value) {
  if (const auto* object = value.if_object()) {
    std::map<std::string, json::value> members;
    for (const auto& [key, member] : *object) {
      if (key == "required" && member.is_array()) {
        std::set<std::string> names;
        for (const json::value& name : member.as_array()) {
          names.emplace(name.as_string());
        }
        members[key] = json::value_from(names);
      } else if (key == "allOf" && member.is_array()) {
        members["$ref"] = member.at(0).at("$ref");
      } else if ((key != "description" || !member.is_string()) &&
                 (key != "x-kubernetes-list-type" || member != "atomic")) {
        members[key] = bare(member);
      }
    }
    json::object out;
    for (auto& [key, member] : members) {
      out[key] = std::move(member);
    }
    return out;
  }
  if (const auto* array = value.if_array()) {
    json::array out;
    for (const json::value& element : *array) {
      out.push_back(bare(element));
    }
    return out;
  }
  return value;
}

std::map<std::string, json::object> reference_schemas() {
  std::map<std::string, json::object> out;
  for (const auto& file : test::files_below(test::shared_folder() / "inputs" / "openapi")) {
    const json::value document = test::read_json_file(file);
    for (const auto& [name, schema] : document.at("components").at("schemas").as_object()) {
      out[name] = bare(schema).as_object();
    }
  }
  return out;
}

std::string text(const json::value* value) {
  return value == nullptr ? "-" : api::to_json(*value);
}

/// "TYPE.FIELD: ours / theirs" for whatever differs.
std::vector<std::string> differences(const std::string& name, json::object ours,
                                     const json::object& theirs) {
  std::vector<std::string> out;
  std::set<std::string> fields;
  const json::object none;
  const auto properties = [&](const json::object& of) {
    const json::value* found = of.if_contains("properties");
    return found == nullptr ? none : found->as_object();
  };
  const json::object our_fields = properties(ours);
  const json::object their_fields = properties(theirs);
  for (const auto* side : {&our_fields, &their_fields}) {
    for (const auto& [field, schema] : *side) {
      fields.insert(field);
    }
  }
  for (const std::string& field : fields) {
    const json::value* a = our_fields.if_contains(field);
    const json::value* b = their_fields.if_contains(field);
    if (text(a) != text(b)) {
      out.push_back(name + "." + field + ": " + text(a) + " / " + text(b));
    }
  }
  for (const char* key : {"type", "format", "required", "oneOf", "x-kubernetes-map-type"}) {
    if (text(ours.if_contains(key)) != text(theirs.if_contains(key))) {
      out.push_back(name + " " + key + ": " + text(ours.if_contains(key)) + " / " +
                    text(theirs.if_contains(key)));
    }
  }
  return out;
}

/// What Kubernetes 1.36 has and 1.34 has not, or has otherwise.
constexpr std::array kSinceThen = {
    // Fields that are new.
    "io.k8s.api.core.v1.NodeStatus.declaredFeatures",
    "io.k8s.api.core.v1.PodCertificateProjection.userAnnotations",
    "io.k8s.api.core.v1.PodSpec.schedulingGroup",
    "io.k8s.api.core.v1.PodStatus.allocatedResources",
    "io.k8s.api.core.v1.PodStatus.nodeAllocatableResourceClaimStatuses",
    "io.k8s.api.core.v1.PodStatus.resources",
    "io.k8s.api.core.v1.ResourceHealth.message",
    "io.k8s.api.core.v1.VolumeMountStatus.volumeStatus",
    "io.k8s.api.resource.v1.Device.nodeAllocatableResourceMappings",
    "io.k8s.api.resource.v1.DeviceAttribute.bools",
    "io.k8s.api.resource.v1.DeviceAttribute.ints",
    "io.k8s.api.resource.v1.DeviceAttribute.strings",
    "io.k8s.api.resource.v1.DeviceAttribute.versions",
    "io.k8s.api.storage.v1.CSIDriverSpec.preventPodSchedulingIfMissing",
    "io.k8s.api.storage.v1.CSIDriverSpec.serviceAccountTokenInSecrets",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
    "CustomResourceDefinitionCondition.observedGeneration",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
    "CustomResourceDefinitionStatus.observedGeneration",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta.shardInfo",
    // Fields that became required, or no longer are.
    "io.k8s.api.authentication.v1.TokenRequest required",
    "io.k8s.api.authentication.v1.TokenRequestSpec required",
    "io.k8s.api.authentication.v1.TokenRequestStatus required",
    "io.k8s.api.batch.v1.CronJob required",
    "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern required",
    "io.k8s.api.policy.v1.PodDisruptionBudgetStatus required",
    "io.k8s.api.rbac.v1.RoleRef required",
    "io.k8s.api.scheduling.v1.PriorityClass required",
    // The strategy "replace" is the one of fields that have none.
    "io.k8s.api.policy.v1.PodDisruptionBudgetSpec.selector",
    // The type is a map, and maps are granular.
    "io.k8s.api.core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses",
    // An atomic type of which this one use is granular: only Type::atomic tells.
    "io.k8s.api.core.v1.PersistentVolumeSpec.claimRef",
};

TEST(OpenApiSchema, BuiltinTypesAreThoseOfKubernetes) {
  BERTH_NEED_SHARED("inputs/openapi");
  const auto theirs = reference_schemas();
  int compared = 0;
  std::vector<std::string> found;
  std::map<std::string, int> met;
  for (const Type* type : Catalogue::builtin().types()) {
    const auto at = theirs.find(type->name);
    if (at == theirs.end()) {
      continue;
    }
    SchemaWriter writer(OpenApiVersion::V3);
    for (std::string& difference :
         differences(type->name, bare(writer.definition(*type)).as_object(), at->second)) {
      const std::string place = difference.substr(0, difference.find(':'));
      if (std::ranges::find(kSinceThen, place) == kSinceThen.end()) {
        found.push_back(std::move(difference));
      }
      ++met[place];
    }
    ++compared;
  }
  EXPECT_GT(compared, 350);
  for (const char* since : kSinceThen) {
    EXPECT_EQ(met[since], 1) << since << " no longer differs";
  }
  EXPECT_TRUE(found.empty()) << fmt::format("{}", fmt::join(found, "\n"));
}

} // namespace
} // namespace berth::schema
