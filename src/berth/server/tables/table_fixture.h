// Objects in few words and the cells that they give. Used by tests only.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/base/assert.h"
#include "berth/server/table.h"

namespace berth::test {

inline const TimePoint kTableNow = *parse_rfc3339("2026-01-01T01:00:00Z");

/// `kind` is "Pod", or with its group "apps/Deployment".
inline schema::Resource table_resource(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  schema::Resource out;
  out.version = "v1";
  out.group = slash == std::string_view::npos ? "" : kind.substr(0, slash);
  out.kind = slash == std::string_view::npos ? kind : kind.substr(slash + 1);
  return out;
}

/// `fields` in YAML; metadata gets the name "x" and the age of five minutes unless it says more.
inline api::Object table_object(const schema::Resource& resource, std::string_view fields) {
  const auto documents = api::parse_yaml(fields, "object.yaml");
  BERTH_ASSERT(documents.has_value(), to_string(documents.error()));
  boost::json::value document = boost::json::object();
  if (!documents->empty()) {
    document = documents->front().value;
  }
  boost::json::object& root = document.as_object();
  root["apiVersion"] = resource.gvk().api_version();
  root["kind"] = resource.kind;
  boost::json::object& meta = api::object_at(root, "metadata");
  meta.emplace("name", "x");
  meta.emplace("creationTimestamp", "2026-01-01T00:55:00Z");
  auto object = api::Object::from_json(std::move(document));
  BERTH_ASSERT(object.has_value(), to_string(object.error()));
  return *std::move(object);
}

/// The row as JSON text: ["x","5m"].
inline std::string cells_text(std::string_view kind, std::string_view fields,
                              server::GpuColumns gpus = server::GpuColumns::Hidden) {
  const schema::Resource resource = table_resource(kind);
  const server::TableShape shape = server::table_shape(resource, gpus);
  return api::to_json(server::table_row(shape, table_object(resource, fields), kTableNow).cells);
}

/// Names of the columns with what is not usual of them: "Name:name Value:integer IP*", * for -o
/// wide.
inline std::string columns_text(const server::TableShape& shape) {
  std::string out;
  for (const server::Column& column : shape.columns) {
    out += out.empty() ? "" : " | ";
    out += column.name;
    out += column.type == "string" ? "" : ":" + column.type;
    out += column.format.empty() ? "" : "/" + column.format;
    out += column.priority == 0 ? "" : "*";
  }
  return out;
}

} // namespace berth::test
