// The documents against those of a real API server (1.36), and what kubectl looks for in them.
#include "berth/schema/openapi.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/custom_resource.h"
#include "berth/schema/inputs_fixture.h"

namespace berth::schema {
namespace {

namespace json = boost::json;
using ::testing::IsEmpty;
using ::testing::NotNull;

std::vector<Resource> resources_of_group(std::string_view group) {
  std::vector<Resource> out;
  for (const Resource& resource : Catalogue::builtin().resources()) {
    if (resource.group == group) {
      out.push_back(resource);
    }
  }
  return out;
}

void collect_references(const json::value& value, std::set<std::string>& out) {
  if (const auto* object = value.if_object()) {
    for (const auto& [key, member] : *object) {
      if (key == "$ref" && member.is_string()) {
        const std::string text(member.as_string());
        out.insert(text.substr(text.rfind('/') + 1));
      }
      collect_references(member, out);
    }
  } else if (const auto* array = value.if_array()) {
    for (const json::value& element : *array) {
      collect_references(element, out);
    }
  }
}

std::vector<Resource> gangs() {
  json::value crd = *api::parse_json(
      R"({"metadata":{"name":"gangs.example.com"},"spec":{"group":"example.com",)"
      R"("scope":"Namespaced","names":{"plural":"gangs","kind":"Gang"},"versions":[{"name":"v1",)"
      R"("served":true,"storage":true,"subresources":{"status":{},"scale":{}},"schema":)"
      R"({"openAPIV3Schema":{"type":"object","description":"A gang.","properties":{"spec":)"
      R"({"type":"object","properties":{"size":{"type":"integer","default":1,"nullable":true},)"
      R"("default":{"type":"string"},"free":{"type":"object",)"
      R"("x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}},)"
      R"("oneOf":[{"required":["size"]}]}}}}}]}})");
  default_definition(crd.as_object());
  return *resources_of(crd);
}

TEST(OpenApi, EveryReferenceIsDefined) {
  const json::object v3 = openapi_v3(resources_of_group(""));
  std::set<std::string> wanted;
  collect_references(v3, wanted);
  EXPECT_GT(wanted.size(), 200U);
  for (const std::string& name : wanted) {
    EXPECT_THAT(v3.at("components").at("schemas").as_object().if_contains(name), NotNull()) << name;
  }
  std::vector<Resource> all(Catalogue::builtin().resources().begin(),
                            Catalogue::builtin().resources().end());
  std::ranges::move(gangs(), std::back_inserter(all));
  const json::object v2 = openapi_v2(all);
  wanted.clear();
  collect_references(v2, wanted);
  EXPECT_GT(wanted.size(), 400U);
  for (const std::string& name : wanted) {
    EXPECT_THAT(v2.at("definitions").as_object().if_contains(name), NotNull()) << name;
  }
}

TEST(OpenApi, KubectlFindsKindsAndFieldValidationInThePaths) {
  const json::object document = openapi_v3(resources_of_group("apps"));
  const json::value& item =
      document.at("paths").at("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
  EXPECT_EQ(api::to_json(item.at("get").at("x-kubernetes-group-version-kind")),
            R"({"group":"apps","kind":"Deployment","version":"v1"})");
  std::vector<std::string> names;
  for (const json::value& parameter : item.at("patch").at("parameters").as_array()) {
    names.emplace_back(parameter.at("name").as_string());
  }
  EXPECT_THAT(names, ::testing::ElementsAre("dryRun", "fieldManager", "fieldValidation", "force"));
  const json::value& deployment =
      document.at("components").at("schemas").at("io.k8s.api.apps.v1.Deployment");
  EXPECT_EQ(api::to_json(deployment.at("x-kubernetes-group-version-kind")),
            R"([{"group":"apps","kind":"Deployment","version":"v1"}])");
}

TEST(OpenApi, CustomResourcesAreShownAsTheyWereWritten) {
  const auto resources = gangs();
  const json::object v3 = openapi_v3(resources);
  const json::value& gang = v3.at("components").at("schemas").at("com.example.v1.Gang");
  EXPECT_EQ(api::string_at(gang, "description"), "A gang.");
  EXPECT_EQ(api::to_json(*api::find_path(gang, "properties.spec.properties.size")),
            R"({"type":"integer","default":1,"nullable":true})");
  EXPECT_THAT(api::find_path(gang, "properties.metadata"), NotNull());
  EXPECT_THAT(v3.at("paths").as_object().if_contains(
                  "/apis/example.com/v1/namespaces/{namespace}/gangs/{name}/scale"),
              NotNull());
  const json::value& list = v3.at("components").at("schemas").at("com.example.v1.GangList");
  EXPECT_EQ(api::to_json(list.at("x-kubernetes-group-version-kind")),
            R"([{"group":"example.com","kind":"GangList","version":"v1"}])");

  const json::object v2 = openapi_v2(resources);
  const json::value& spec =
      v2.at("definitions").at("com.example.v1.Gang").at("properties").at("spec");
  EXPECT_EQ(api::to_json(spec),
            R"({"type":"object","properties":{"size":{},"default":{"type":"string"},)"
            R"("free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}})");
}

/// Streams and proxies, which Berth's documents leave out; the deprecated watch paths; a kind that
/// is deprecated since long.
bool is_left_out(const std::string& path) {
  for (const char* part : {"/watch/", "/proxy", "/attach", "/exec", "/portforward",
                           "/componentstatuses", "workloads", "devicetaintrules"}) {
    if (path.find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Of an operation and of the path that it stands at.
std::set<std::string> parameter_names(const json::object& path, const json::value& operation) {
  std::set<std::string> out;
  for (const json::value* of :
       {path.if_contains("parameters"), api::find(operation, "parameters")}) {
    for (std::size_t i = 0; of != nullptr && i < of->as_array().size(); ++i) {
      out.emplace(of->at(i).at("name").as_string());
    }
  }
  // Of 1.36, of the deprecated export of logs, and one that breaks clusters.
  for (const char* other : {"shardSelector", "ignoreStoreReadErrorWithClusterBreakingPotential",
                            "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes",
                            "previous", "sinceSeconds", "stream", "tailLines", "timestamps"}) {
    out.erase(other);
  }
  return out;
}

void compare_operations(const std::string& path, const json::object& ours,
                        const json::object& theirs, std::vector<std::string>& found) {
  for (const auto& [method, theirs_of] : theirs) {
    if (method == "parameters") {
      continue;
    }
    const std::string place = fmt::format("{} {}", path, std::string_view(method));
    const json::value* ours_of = ours.if_contains(method);
    if (ours_of == nullptr) {
      found.push_back(place + " is missing");
      continue;
    }
    for (const char* key :
         {"operationId", "x-kubernetes-action", "x-kubernetes-group-version-kind", "tags"}) {
      const json::value* a = api::find(*ours_of, key);
      const json::value* b = api::find(theirs_of, key);
      if ((a == nullptr) != (b == nullptr) || (a != nullptr && *a != *b)) {
        found.push_back(fmt::format("{} {}: {} / {}", place, key,
                                    a == nullptr ? "-" : api::to_json(*a),
                                    b == nullptr ? "-" : api::to_json(*b)));
      }
    }
    const auto our_parameters = parameter_names(ours, *ours_of);
    const auto their_parameters = parameter_names(theirs, theirs_of);
    if (our_parameters != their_parameters) {
      found.push_back(fmt::format("{}: {} / {}", place, our_parameters, their_parameters));
    }
  }
}

TEST(OpenApi, PathsAreThoseOfKubernetes) {
  BERTH_NEED_SHARED("inputs/openapi");
  const std::map<std::string, std::string> groups = {
      {"api__v1", ""},
      {"apis__apps__v1", "apps"},
      {"apis__batch__v1", "batch"},
      {"apis__policy__v1", "policy"},
      {"apis__node.k8s.io__v1", "node.k8s.io"},
      {"apis__resource.k8s.io__v1", "resource.k8s.io"},
      {"apis__storage.k8s.io__v1", "storage.k8s.io"},
      {"apis__scheduling.k8s.io__v1", "scheduling.k8s.io"},
      {"apis__coordination.k8s.io__v1", "coordination.k8s.io"},
      {"apis__apiextensions.k8s.io__v1", "apiextensions.k8s.io"},
      {"apis__rbac.authorization.k8s.io__v1", "rbac.authorization.k8s.io"}};
  std::vector<std::string> found;
  int compared = 0;
  for (const auto& [file, group] : groups) {
    const json::value theirs =
        test::read_json_file(test::shared_folder() / "inputs" / "openapi" / (file + ".json"));
    const json::object ours = openapi_v3(resources_of_group(group));
    for (const auto& [name, item] : theirs.at("paths").as_object()) {
      const std::string path(name);
      if (is_left_out(path)) {
        continue;
      }
      const json::value* own = ours.at("paths").as_object().if_contains(path);
      if (own == nullptr) {
        found.push_back(path + " is missing");
        continue;
      }
      compare_operations(path, own->as_object(), item.as_object(), found);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
  EXPECT_TRUE(found.empty()) << fmt::format("{}", fmt::join(found, "\n"));
}

} // namespace
} // namespace berth::schema
