#include "berth/server/render.h"

#include <utility>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/server/json_list.h"
#include "berth/server/table.h"

namespace berth::server {
namespace {

namespace json = api::json;

json::object partial(const api::Object& object, const std::string& version) {
  json::object out{{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/" + version}};
  out["metadata"] = *api::find(object.json(), "metadata");
  return out;
}

json::value row_object(const api::Object& object, const schema::Resource& resource,
                       const RenderOptions& options) {
  switch (options.row_object) {
  case RowObject::None:
    return nullptr;
  case RowObject::Whole:
    return *api::parse_json(object_bytes(object, resource));
  case RowObject::Metadata:
    break;
  }
  return partial(object, options.wanted.meta_version);
}

json::object table_of(std::span<const api::Object> items, json::object meta,
                      const schema::Resource& resource, const RenderOptions& options,
                      bool columns) {
  const TableShape shape = table_shape(resource, options.gpu_columns);
  json::object table{{"kind", "Table"},
                     {"apiVersion", "meta.k8s.io/" + options.wanted.meta_version},
                     {"metadata", std::move(meta)}};
  table["columnDefinitions"] = columns ? json::value(column_definitions(shape)) : nullptr;
  json::array rows;
  for (const api::Object& object : items) {
    TableRow cells = table_row(shape, object, options.now);
    json::object row{{"cells", std::move(cells.cells)}};
    if (!cells.conditions.empty()) {
      row["conditions"] = std::move(cells.conditions);
    }
    row["object"] = row_object(object, resource, options);
    rows.push_back(std::move(row));
  }
  table["rows"] = std::move(rows);
  return table;
}

} // namespace

std::string encode(const json::value& document, Encoding encoding) {
  return encoding == Encoding::Yaml ? api::to_yaml(document) : api::to_json(document) + "\n";
}

std::string render_object(const api::Object& object, const schema::Resource& resource,
                          const RenderOptions& options, bool columns) {
  const Wanted& wanted = options.wanted;
  if (wanted.form == Wanted::Form::Table) {
    const ListHead head{.resource_version = object.meta().resource_version, .continue_token = {}};
    return encode(table_of({&object, 1}, list_meta(head), resource, options, columns),
                  wanted.encoding);
  }
  if (wanted.form == Wanted::Form::PartialMetadata) {
    return encode(partial(object, wanted.meta_version), wanted.encoding);
  }
  std::string bytes = object_bytes(object, resource);
  if (wanted.encoding == Encoding::Yaml) {
    return api::to_yaml(*api::parse_json(bytes));
  }
  return bytes + "\n";
}

std::string render_list(std::span<const api::Object> items, const ListHead& head,
                        const schema::Resource& resource, const RenderOptions& options) {
  const Wanted& wanted = options.wanted;
  if (wanted.form == Wanted::Form::Table) {
    return encode(table_of(items, list_meta(head), resource, options, true), wanted.encoding);
  }
  if (wanted.form == Wanted::Form::PartialMetadata) {
    json::object list{{"kind", "PartialObjectMetadataList"},
                      {"apiVersion", "meta.k8s.io/" + wanted.meta_version},
                      {"metadata", list_meta(head)}};
    json::array out;
    for (const api::Object& object : items) {
      out.push_back(partial(object, wanted.meta_version));
    }
    list["items"] = std::move(out);
    return encode(list, wanted.encoding);
  }
  JsonList list({items.begin(), items.end()}, head, resource);
  std::string bytes;
  bytes.reserve(list.size());
  for (std::string piece = list.next(); !piece.empty(); piece = list.next()) {
    bytes += piece;
  }
  return wanted.encoding == Encoding::Yaml ? api::to_yaml(*api::parse_json(bytes)) : bytes;
}

} // namespace berth::server
