#include "berth/server/table.h"

#include <algorithm>
#include <array>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server {
namespace {

json::value created_at(const Row& row) {
  const auto made = row.object.meta().creation_timestamp;
  return json::value(made ? to_rfc3339(*made) : "0001-01-01T00:00:00Z");
}

TableShape plain_shape() {
  return {.columns = {tables::name_column(),
                      {.name = "Created At",
                       .type = "date",
                       .description = "When the object was created, by the server's clock.",
                       .cell = &created_at}}};
}

TableShape built_in_shape(const schema::Resource& resource) {
  const std::array all = {tables::core_shapes(),    tables::workload_shapes(),
                          tables::network_shapes(), tables::storage_shapes(),
                          tables::access_shapes(),  tables::scheduling_shapes()};
  for (const std::span<const tables::KindShape> some : all) {
    const auto known = std::ranges::find_if(some, [&](const tables::KindShape& shape) {
      return shape.kind == resource.kind && shape.group == resource.group;
    });
    if (known != some.end()) {
      return known->shape();
    }
  }
  return plain_shape();
}

} // namespace

TableShape table_shape(const schema::Resource& resource, GpuColumns gpus) {
  if (resource.custom) {
    return tables::custom_shape(resource.columns);
  }
  TableShape out = built_in_shape(resource);
  if (gpus == GpuColumns::Shown && resource.group.empty()) {
    std::ranges::move(tables::gpu_columns(resource.kind), std::back_inserter(out.columns));
  }
  return out;
}

json::array column_definitions(const TableShape& shape) {
  json::array out;
  for (const Column& column : shape.columns) {
    out.push_back(json::object{{"name", column.name},
                               {"type", column.type},
                               {"format", column.format},
                               {"description", column.description},
                               {"priority", column.priority}});
  }
  return out;
}

TableRow table_row(const TableShape& shape, const api::Object& object, TimePoint now) {
  const Row row{.object = object, .now = now};
  TableRow out;
  out.cells.reserve(shape.columns.size());
  for (const Column& column : shape.columns) {
    out.cells.push_back(column.cell(row));
  }
  if (shape.conditions != nullptr) {
    out.conditions = shape.conditions(row);
  }
  return out;
}

} // namespace berth::server
