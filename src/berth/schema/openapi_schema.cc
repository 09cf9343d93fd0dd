#include "berth/schema/openapi_schema.h"

#include <boost/json/array.hpp>

#include "berth/schema/scalar.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& from) {
  json::array out;
  for (const std::string& text : from) {
    out.emplace_back(text);
  }
  return out;
}

std::string_view to_string(ListKind kind) {
  switch (kind) {
  case ListKind::Atomic:
    return "atomic";
  case ListKind::Set:
    return "set";
  case ListKind::Map:
    return "map";
  }
  return "";
}

/// Of which the value's zero is written when it is absent, as kube-openapi tells.
std::optional<json::value> default_of(const Field& field) {
  const Type& type = *field.type;
  if (type.default_value) {
    return type.default_value;
  }
  if (field.when_empty != WhenEmpty::Zero) {
    return std::nullopt;
  }
  switch (type.form) {
  case Form::Boolean:
    return json::value(false);
  case Form::Integer:
  case Form::Number:
    return json::value(0);
  case Form::String:
    return is_time(type) ? std::nullopt : std::optional(json::value(""));
  case Form::Struct:
    return json::value(json::object());
  case Form::Any:
  case Form::IntOrString:
  case Form::Quantity:
  case Form::Map:
  case Form::List:
    break;
  }
  return std::nullopt;
}

void write_extensions(const Type& type, json::object& out) {
  if (type.form == Form::List) {
    out["x-kubernetes-list-type"] = to_string(type.list);
    if (type.list == ListKind::Map) {
      out["x-kubernetes-list-map-keys"] = texts(type.list_keys);
    }
  }
  if (type.atomic && (type.form == Form::Map || type.form == Form::Struct)) {
    out["x-kubernetes-map-type"] = "atomic";
  }
}

void write_patch_strategy(const Type& type, json::object& out) {
  if (!type.merge_key.empty()) {
    out["x-kubernetes-patch-merge-key"] = type.merge_key;
  }
  if (type.merges || type.retain_keys) {
    out["x-kubernetes-patch-strategy"] = type.merges && type.retain_keys ? "merge,retainKeys"
                                         : type.merges                   ? "merge"
                                                                         : "retainKeys";
  }
}

json::array one_of(std::string_view first, std::string_view second) {
  return {json::object{{"type", first}}, json::object{{"type", second}}};
}

} // namespace

json::object SchemaWriter::reference(std::string_view name) {
  references_.emplace(name);
  const std::string_view place =
      version_ == OpenApiVersion::V3 ? "#/components/schemas/" : "#/definitions/";
  return {{"$ref", std::string(place) + std::string(name)}};
}

json::object SchemaWriter::use(const Type& type) {
  if (!type.name.empty()) {
    return reference(type.name);
  }
  json::object out;
  write_form(type, out);
  write_extensions(type, out);
  write_patch_strategy(type, out);
  return out;
}

json::object SchemaWriter::property(const Field& field) {
  const Type& type = *field.type;
  json::object out = use(type);
  const bool refers = !type.name.empty();
  if (refers) {
    write_patch_strategy(type, out);
  }
  const auto otherwise = version_ == OpenApiVersion::V3 ? default_of(field) : std::nullopt;
  if (otherwise) {
    out["default"] = *otherwise;
  }
  if (!field.description.empty()) {
    out["description"] = field.description;
  }
  if (refers && version_ == OpenApiVersion::V3 && out.size() > 1) {
    out["allOf"] = json::array{json::object{{"$ref", out.at("$ref")}}};
    out.erase("$ref");
  }
  return out;
}

void SchemaWriter::write_struct(const Type& type, json::object& out) {
  json::object properties;
  json::array required;
  for (const Field& field : type.fields) {
    properties[field.name] = property(field);
    if (field.required) {
      required.emplace_back(field.name);
    }
  }
  if (!properties.empty()) {
    out["properties"] = std::move(properties);
  }
  if (!required.empty()) {
    out["required"] = std::move(required);
  }
}

void SchemaWriter::write_form(const Type& type, json::object& out) {
  switch (type.form) {
  case Form::Any:
    if (type.format == "object") {
      out["type"] = "object";
    }
    return;
  case Form::Boolean:
    out["type"] = "boolean";
    return;
  case Form::Integer:
    out["type"] = "integer";
    break;
  case Form::Number:
    out["type"] = "number";
    break;
  case Form::String:
    out["type"] = "string";
    break;
  case Form::Quantity:
  case Form::IntOrString:
    if (version_ == OpenApiVersion::V2) {
      out["type"] = "string";
    } else {
      out["oneOf"] =
          type.form == Form::Quantity ? one_of("string", "number") : one_of("integer", "string");
    }
    break;
  case Form::Struct:
    out["type"] = "object";
    write_struct(type, out);
    return;
  case Form::Map:
    out["type"] = "object";
    out["additionalProperties"] = use(*type.element);
    return;
  case Form::List:
    out["type"] = "array";
    out["items"] = use(*type.element);
    return;
  }
  if (!type.format.empty()) {
    out["format"] = type.format;
  }
}

json::object SchemaWriter::definition(const Type& type) {
  json::object out;
  if (!type.description.empty()) {
    out["description"] = type.description;
  }
  write_form(type, out);
  write_extensions(type, out);
  return out;
}

} // namespace berth::schema
