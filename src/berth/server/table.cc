#include "berth/server/table.h"

#include "berth/base/time.h"

namespace berth::server {
namespace {

boost::json::array plain_cells(const TableShape&, const api::Object& object, TimePoint now) {
  const auto made = object.meta().creation_timestamp;
  return {object.meta().name, made ? to_age(now - *made) : "<unknown>"};
}

} // namespace

TableShape table_shape(const schema::Resource&) {
  return {.columns = {{.name = "Name", .format = "name"}, {.name = "Age"}}, .cells = &plain_cells};
}

boost::json::array column_definitions(const TableShape& shape) {
  boost::json::array out;
  for (const Column& column : shape.columns) {
    out.push_back(boost::json::object{{"name", column.name},
                                      {"type", column.type},
                                      {"format", column.format},
                                      {"description", column.description},
                                      {"priority", column.priority}});
  }
  return out;
}

TableRow table_row(const TableShape& shape, const api::Object& object, TimePoint now) {
  return {.cells = shape.cells(shape, object, now), .conditions = {}};
}

} // namespace berth::server
