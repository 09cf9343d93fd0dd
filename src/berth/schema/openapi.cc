#include "berth/schema/openapi.h"

#include <map>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/schema/catalogue.h"
#include "berth/schema/openapi_custom.h"
#include "berth/schema/openapi_paths.h"
#include "berth/schema/openapi_schema.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

json::object gvk_object(const api::GroupVersionKind& gvk) {
  return {{"group", gvk.group}, {"kind", gvk.kind}, {"version", gvk.version}};
}

class Document {
 public:
  Document(OpenApiVersion version, std::span<const Resource> resources)
      : schemas_(version), resources_(resources) {}

  json::object write() {
    PathWriter writer(schemas_);
    json::object paths;
    for (const Resource& resource : resources_) {
      const api::GroupVersionKind place{resource.group, resource.version, ""};
      if (groups_.insert(place).second) {
        writer.write_group(place, paths);
      }
      writer.write(resource, paths);
    }
    json::object definitions = write_definitions();
    const json::object info = {{"title", "Kubernetes"},
                               {"version", "v" + Catalogue::builtin().version()}};
    const json::object token = {{"description", "Bearer Token authentication"},
                                {"in", "header"},
                                {"name", "authorization"},
                                {"type", "apiKey"}};
    if (schemas_.version() == OpenApiVersion::V2) {
      return {{"swagger", "2.0"},
              {"info", info},
              {"paths", std::move(paths)},
              {"definitions", std::move(definitions)},
              {"securityDefinitions", json::object{{"BearerToken", token}}},
              {"security", json::array{json::object{{"BearerToken", json::array()}}}}};
    }
    return {
        {"openapi", "3.0.0"},
        {"info", info},
        {"paths", std::move(paths)},
        {"components", json::object{{"schemas", std::move(definitions)},
                                    {"securitySchemes", json::object{{"BearerToken", token}}}}}};
  }

 private:
  /// Everything that was referred to, and what that refers to.
  json::object write_definitions() {
    std::map<std::string, json::object> written;
    for (bool more = true; more;) {
      more = false;
      const auto names = schemas_.references();
      for (const std::string& name : names) {
        if (!written.contains(name)) {
          written[name] = definition(name);
          more = true;
        }
      }
    }
    json::object out;
    for (auto& [name, schema] : written) {
      out[name] = std::move(schema);
    }
    return out;
  }

  json::object definition(const std::string& name) {
    for (const Resource& resource : resources_) {
      if (resource.custom && resource.type->name == name) {
        return with_kinds(custom_definition(resource, schemas_), {resource.gvk()});
      }
      if (resource.custom && list_type_name(resource) == name) {
        return with_kinds(custom_list_definition(resource, schemas_),
                          {{resource.group, resource.version, resource.list_kind}});
      }
    }
    if (name == std::string(kMeta) + "Patch") {
      return {{"description", "A patch: what to change, in the form that its media type names."},
              {"type", "object"}};
    }
    const TypePtr type = Catalogue::builtin().named(name);
    return type ? with_kinds(schemas_.definition(*type), kinds_of(*type)) : json::object();
  }

  std::vector<api::GroupVersionKind> kinds_of(const Type& type) const {
    const std::string_view name = type.name;
    if (!name.starts_with(kMeta)) {
      const api::GroupVersionKind gvk = Catalogue::builtin().gvk_of(type);
      return gvk.kind.empty() ? std::vector<api::GroupVersionKind>()
                              : std::vector<api::GroupVersionKind>{gvk};
    }
    const std::string kind(name.substr(kMeta.size()));
    if (kind == "Status" || kind == "APIResourceList" || kind == "APIGroup") {
      return {{"", "v1", kind}};
    }
    std::vector<api::GroupVersionKind> out;
    if (kind == "DeleteOptions" || kind == "WatchEvent") {
      for (const api::GroupVersionKind& place : groups_) {
        out.push_back({place.group, place.version, kind});
      }
    }
    return out;
  }

  static json::object with_kinds(json::object schema,
                                 const std::vector<api::GroupVersionKind>& kinds) {
    if (!kinds.empty()) {
      json::array out;
      for (const api::GroupVersionKind& gvk : kinds) {
        out.push_back(gvk_object(gvk));
      }
      schema["x-kubernetes-group-version-kind"] = std::move(out);
    }
    return schema;
  }

  SchemaWriter schemas_;
  std::span<const Resource> resources_;
  std::set<api::GroupVersionKind> groups_;
};

} // namespace

json::object openapi_v3(std::span<const Resource> resources) {
  return Document(OpenApiVersion::V3, resources).write();
}

json::object openapi_v2(std::span<const Resource> resources) {
  return Document(OpenApiVersion::V2, resources).write();
}

} // namespace berth::schema
