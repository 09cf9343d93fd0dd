#include "berth/schema/openapi_custom.h"

#include <boost/json/array.hpp>
#include <fmt/format.h>

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view kApiVersion =
    "The group and version that the object is written in: GROUP/VERSION, or VERSION of core.";
constexpr std::string_view kKind = "The kind of the object, in CamelCase.";

/// V2 knows no alternatives, defaults or nulls, and readers of it refuse fields that are not
/// listed.
json::value without_news(const json::value& schema) {
  if (const auto* array = schema.if_array()) {
    json::array out;
    for (const json::value& element : *array) {
      out.push_back(without_news(element));
    }
    return out;
  }
  const auto* object = schema.if_object();
  if (object == nullptr) {
    return schema;
  }
  const auto says = [&](std::string_view name) {
    const json::value* found = object->if_contains(name);
    return found != nullptr && *found == true;
  };
  const bool open = says("x-kubernetes-preserve-unknown-fields");
  json::object out;
  for (const auto& [name, value] : *object) {
    const bool news = name == "allOf" || name == "anyOf" || name == "oneOf" || name == "not" ||
                      name == "default" || name == "nullable";
    const bool closed = open && (name == "properties" || name == "items" || name == "required");
    const bool typed = name == "type" && says("nullable");
    if (news || closed || typed) {
      continue;
    }
    if (name == "properties" && value.is_object()) {
      json::object properties; // whose names are no keywords
      for (const auto& [field, of] : value.as_object()) {
        properties[field] = without_news(of);
      }
      out[name] = std::move(properties);
    } else if (name == "items" || name == "additionalProperties") {
      out[name] = without_news(value);
    } else {
      out[name] = value;
    }
  }
  return out;
}

json::object described(json::object reference, std::string_view description,
                       OpenApiVersion version) {
  if (version == OpenApiVersion::V2) {
    reference["description"] = description;
    return reference;
  }
  return {{"allOf", json::array{std::move(reference)}}, {"description", description}};
}

void add_type_meta(json::object& properties) {
  properties["apiVersion"] = json::object{{"type", "string"}, {"description", kApiVersion}};
  properties["kind"] = json::object{{"type", "string"}, {"description", kKind}};
}

} // namespace

std::string list_type_name(const Resource& resource) {
  const std::string& name = resource.type->name;
  return name.substr(0, name.rfind('.') + 1) + resource.list_kind;
}

json::object custom_definition(const Resource& resource, SchemaWriter& schemas) {
  json::object out;
  if (resource.schema && resource.schema->is_object()) {
    out = schemas.version() == OpenApiVersion::V3 ? resource.schema->as_object()
                                                  : without_news(*resource.schema).as_object();
  }
  out["type"] = "object";
  const json::value* given = out.if_contains("properties");
  json::object properties =
      given != nullptr && given->is_object() ? given->as_object() : json::object();
  add_type_meta(properties);
  properties["metadata"] =
      described(schemas.reference("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
                "Standard object's metadata.", schemas.version());
  out["properties"] = std::move(properties);
  return out;
}

json::object custom_list_definition(const Resource& resource, SchemaWriter& schemas) {
  json::object properties;
  add_type_meta(properties);
  properties["items"] = json::object{{"description", fmt::format("List of {}.", resource.plural)},
                                     {"items", schemas.reference(resource.type->name)},
                                     {"type", "array"}};
  properties["metadata"] =
      described(schemas.reference("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"),
                "Standard list metadata.", schemas.version());
  return {{"description", fmt::format("{} is a list of {}", resource.list_kind, resource.kind)},
          {"type", "object"},
          {"required", json::array{"items"}},
          {"properties", std::move(properties)}};
}

} // namespace berth::schema
