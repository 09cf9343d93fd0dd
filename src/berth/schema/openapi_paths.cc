#include "berth/schema/openapi_paths.h"

#include <array>
#include <span>
#include <vector>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/openapi_custom.h"
#include "berth/schema/openapi_parameters.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

constexpr std::array kOfLists = {"allowWatchBookmarks",
                                 "continue",
                                 "fieldSelector",
                                 "labelSelector",
                                 "limit",
                                 "resourceVersion",
                                 "resourceVersionMatch",
                                 "sendInitialEvents",
                                 "timeoutSeconds",
                                 "watch"};
constexpr std::array kOfWrites = {"dryRun", "fieldManager", "fieldValidation"};
constexpr std::array kOfPatches = {"dryRun", "fieldManager", "fieldValidation", "force"};
constexpr std::array kOfDeletes = {"dryRun", "gracePeriodSeconds", "orphanDependents",
                                   "propagationPolicy"};
constexpr std::array kOfCollections = {"continue",          "dryRun",
                                       "fieldSelector",     "gracePeriodSeconds",
                                       "labelSelector",     "limit",
                                       "orphanDependents",  "propagationPolicy",
                                       "resourceVersion",   "resourceVersionMatch",
                                       "sendInitialEvents", "timeoutSeconds"};

struct Words {
  std::string_view id;       // "read" of readAppsV1NamespacedDeployment
  std::string_view action;   // x-kubernetes-action
  std::string_view describe; // "read the specified"
  std::span<const char* const> parameters;
};

/// By PathWriter::Action.
const std::array<Words, 7> kWords = {{
    {"read", "get", "read the specified", {}},
    {"list", "list", "list or watch objects of kind", kOfLists},
    {"create", "post", "create a", kOfWrites},
    {"replace", "put", "replace the specified", kOfWrites},
    {"patch", "patch", "partially update the specified", kOfPatches},
    {"delete", "delete", "delete a", kOfDeletes},
    {"delete", "deletecollection", "delete collection of", kOfCollections},
}};

std::string capitalized(std::string_view word) {
  std::string out(word);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') {
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  }
  return out;
}

/// "rbac.authorization.k8s.io", "v1" -> "RbacAuthorizationV1"; core is "CoreV1".
std::string group_words(const api::GroupVersionKind& gvk) {
  std::string_view group = gvk.group.empty() ? std::string_view("core") : gvk.group;
  if (group.ends_with(".k8s.io")) {
    group.remove_suffix(7);
  }
  std::string out;
  for (;;) {
    const std::size_t dot = group.find('.');
    out += capitalized(group.substr(0, dot));
    if (dot == std::string_view::npos) {
      return out + capitalized(gvk.version);
    }
    group.remove_prefix(dot + 1);
  }
}

/// "apps_v1", "rbacAuthorization_v1".
std::string tag_of(const api::GroupVersionKind& gvk) {
  std::string words = group_words(gvk);
  words.resize(words.size() - gvk.version.size());
  words[0] = static_cast<char>(words[0] - 'A' + 'a');
  return words + "_" + gvk.version;
}

json::object gvk_object(const api::GroupVersionKind& gvk) {
  return {{"group", gvk.group}, {"kind", gvk.kind}, {"version", gvk.version}};
}

} // namespace

struct PathWriter::Operation {
  Action action = Action::Get;
  const Resource& resource;
  const Subresource* sub = nullptr;
  bool all_namespaces = false;

  api::GroupVersionKind kind() const { return sub == nullptr ? resource.gvk() : sub->kind; }
};

std::string path_of(const api::GroupVersionKind& gvk) {
  return gvk.group.empty() ? "/api/" + gvk.version : "/apis/" + gvk.group + "/" + gvk.version;
}

std::string PathWriter::body_type(const Operation& of) const {
  if (of.sub == nullptr || of.sub->kind == of.resource.gvk()) {
    return of.resource.type->name;
  }
  const TypePtr type = Catalogue::builtin().type(of.sub->kind);
  BERTH_ASSERT(type != nullptr, of.sub->kind.kind);
  return type->name;
}

json::object PathWriter::parameter(std::string_view name, std::string_view place) {
  json::object out = {{"in", place}, {"name", name}};
  const Parameter& known = parameter_of(name);
  out["description"] = known.description;
  if (schemas_.version() == OpenApiVersion::V3) {
    out["schema"] = json::object{{"type", known.type}, {"uniqueItems", true}};
  } else {
    out["type"] = known.type;
    out["uniqueItems"] = true;
  }
  if (place == "path") {
    out["required"] = true;
  }
  return out;
}

json::object PathWriter::path(bool named, bool namespaced) {
  json::array parameters;
  if (named) {
    parameters.push_back(parameter("name", "path"));
  }
  if (namespaced) {
    parameters.push_back(parameter("namespace", "path"));
  }
  parameters.push_back(parameter("pretty", "query"));
  return {{"parameters", std::move(parameters)}};
}

json::value PathWriter::answers(const Operation& of) {
  std::string type;
  switch (of.action) {
  case Action::Delete:
  case Action::DeleteCollection:
    type = std::string(kMeta) + "Status";
    break;
  case Action::List:
    type = list_type_name(of.resource);
    break;
  case Action::Get:
  case Action::Create:
  case Action::Replace:
  case Action::Patch:
    type = body_type(of);
    break;
  }
  json::object out;
  const auto add = [&](std::string_view code, std::string_view description) {
    json::object answer = {{"description", description}};
    if (schemas_.version() == OpenApiVersion::V3) {
      json::object content;
      for (const std::string_view media : {"application/json", "application/yaml"}) {
        content[media] = json::object{{"schema", schemas_.reference(type)}};
      }
      if (of.action == Action::List) {
        content["application/json;stream=watch"] =
            json::object{{"schema", schemas_.reference(type)}};
      }
      answer["content"] = std::move(content);
    } else {
      answer["schema"] = schemas_.reference(type);
    }
    out[code] = std::move(answer);
  };
  add("200", "OK");
  if (of.action == Action::Create || of.action == Action::Replace || of.action == Action::Patch) {
    add("201", "Created");
  }
  if (of.action == Action::Create || of.action == Action::Delete) {
    add("202", "Accepted");
  }
  out["401"] = json::object{{"description", "Unauthorized"}};
  return out;
}

void PathWriter::body(const Operation& of, json::object& out, json::array& parameters) {
  std::string type;
  bool required = true;
  std::vector<std::string_view> media = {"*/*"};
  switch (of.action) {
  case Action::Get:
  case Action::List:
    return;
  case Action::Create:
  case Action::Replace:
    type = body_type(of);
    break;
  case Action::Patch:
    type = std::string(kMeta) + "Patch";
    media = {"application/json-patch+json", "application/merge-patch+json",
             "application/apply-patch+yaml"};
    if (!of.resource.custom) {
      media.emplace_back("application/strategic-merge-patch+json");
    }
    break;
  case Action::Delete:
  case Action::DeleteCollection:
    type = std::string(kMeta) + "DeleteOptions";
    required = false;
    break;
  }
  if (schemas_.version() == OpenApiVersion::V2) {
    json::array consumes;
    for (const std::string_view one : media) {
      consumes.emplace_back(one);
    }
    out["consumes"] = std::move(consumes);
    json::object given = {{"in", "body"}, {"name", "body"}, {"schema", schemas_.reference(type)}};
    if (required) {
      given["required"] = true;
    }
    parameters.insert(parameters.begin(), std::move(given));
    return;
  }
  json::object content;
  for (const std::string_view one : media) {
    content[one] = json::object{{"schema", schemas_.reference(type)}};
  }
  json::object request = {{"content", std::move(content)}};
  if (required) {
    request["required"] = true;
  }
  out["requestBody"] = std::move(request);
}

json::object PathWriter::operation(const Operation& of) {
  const Words& words = kWords[static_cast<std::size_t>(of.action)];
  const Resource& resource = of.resource;
  const api::GroupVersionKind kind = of.kind();
  json::object out;
  out["description"] = fmt::format(
      "{} {}{}", words.describe,
      of.sub == nullptr ? std::string() : of.sub->name + " of the specified ", resource.kind);
  out["operationId"] =
      fmt::format("{}{}{}{}{}{}{}", words.id, group_words(resource.gvk()),
                  of.action == Action::DeleteCollection ? "Collection" : "",
                  resource.namespaced() && !of.all_namespaces ? "Namespaced" : "", resource.kind,
                  of.sub == nullptr ? "" : capitalized(of.sub->name),
                  of.all_namespaces ? "ForAllNamespaces" : "");
  json::array parameters;
  for (const std::string_view name : words.parameters) {
    parameters.push_back(parameter(name, "query"));
  }
  body(of, out, parameters);
  if (!parameters.empty()) {
    out["parameters"] = std::move(parameters);
  }
  if (schemas_.version() == OpenApiVersion::V2) {
    out["produces"] = json::array{"application/json", "application/yaml"};
    out["schemes"] = json::array{"https"};
  }
  out["responses"] = answers(of);
  out["tags"] = json::array{json::value(tag_of(resource.gvk()))};
  out["x-kubernetes-action"] = words.action;
  out["x-kubernetes-group-version-kind"] = gvk_object(kind);
  return out;
}

void PathWriter::collection(const Resource& resource, json::object& paths) {
  json::object at = path(false, resource.namespaced());
  if (resource.can("list")) {
    at["get"] = operation({Action::List, resource});
  }
  if (resource.can("create")) {
    at["post"] = operation({Action::Create, resource});
  }
  if (resource.can("deletecollection")) {
    at["delete"] = operation({Action::DeleteCollection, resource});
  }
  const std::string root = path_of(resource.gvk());
  if (!resource.namespaced()) {
    paths[fmt::format("{}/{}", root, resource.plural)] = std::move(at);
    return;
  }
  paths[fmt::format("{}/namespaces/{{namespace}}/{}", root, resource.plural)] = std::move(at);
  if (resource.can("list")) {
    json::object everywhere = path(false, false);
    everywhere["get"] = operation({Action::List, resource, nullptr, true});
    paths[fmt::format("{}/{}", root, resource.plural)] = std::move(everywhere);
  }
}

void PathWriter::item(const Resource& resource, json::object& paths) {
  if (!resource.can("get")) {
    return;
  }
  json::object at = path(true, resource.namespaced());
  at["get"] = operation({Action::Get, resource});
  if (resource.can("update")) {
    at["put"] = operation({Action::Replace, resource});
  }
  if (resource.can("patch")) {
    at["patch"] = operation({Action::Patch, resource});
  }
  if (resource.can("delete")) {
    at["delete"] = operation({Action::Delete, resource});
  }
  paths[fmt::format("{}/{}{}/{{name}}", path_of(resource.gvk()),
                    resource.namespaced() ? "namespaces/{namespace}/" : "", resource.plural)] =
      std::move(at);
}

void PathWriter::subresource(const Resource& resource, const Subresource& sub,
                             json::object& paths) {
  // Streams and proxies are no documents.
  if (sub.kind.kind.ends_with("Options")) {
    return;
  }
  json::object at = path(true, resource.namespaced());
  for (const std::string& verb : sub.verbs) {
    if (verb == "get") {
      at["get"] = operation({Action::Get, resource, &sub});
    } else if (verb == "update") {
      at["put"] = operation({Action::Replace, resource, &sub});
    } else if (verb == "patch") {
      at["patch"] = operation({Action::Patch, resource, &sub});
    } else if (verb == "create") {
      at["post"] = operation({Action::Create, resource, &sub});
    }
  }
  paths[fmt::format("{}/{}{}/{{name}}/{}", path_of(resource.gvk()),
                    resource.namespaced() ? "namespaces/{namespace}/" : "", resource.plural,
                    sub.name)] = std::move(at);
}

void PathWriter::write(const Resource& resource, json::object& paths) {
  collection(resource, paths);
  item(resource, paths);
  for (const Subresource& sub : resource.subresources) {
    subresource(resource, sub, paths);
  }
}

void PathWriter::write_group(const api::GroupVersionKind& gvk, json::object& paths) {
  json::object answer = {{"description", "OK"}};
  const std::string type = std::string(kMeta) + "APIResourceList";
  json::object get = {{"description", "get available resources"},
                      {"operationId", fmt::format("get{}APIResources", group_words(gvk))},
                      {"tags", json::array{json::value(tag_of(gvk))}}};
  if (schemas_.version() == OpenApiVersion::V3) {
    answer["content"] =
        json::object{{"application/json", json::object{{"schema", schemas_.reference(type)}}}};
  } else {
    answer["schema"] = schemas_.reference(type);
    get["produces"] = json::array{"application/json", "application/yaml"};
    get["schemes"] = json::array{"https"};
  }
  get["responses"] = json::object{{"200", std::move(answer)},
                                  {"401", json::object{{"description", "Unauthorized"}}}};
  paths[path_of(gvk) + "/"] = json::object{{"get", std::move(get)}};
}

} // namespace berth::schema
