// Tables, as kubectl get shows them: which columns a kind has, and an object's cells. Source:
// kubernetes pkg/printers/internalversion/printers.go; additionalPrinterColumns of custom
// resources.
#pragma once

#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "berth/api/object.h"
#include "berth/base/time.h"
#include "berth/schema/resource.h"

namespace berth::server {

struct Column {
  std::string name;
  std::string type = "string"; ///< string, integer, number, boolean, date
  std::string format;          ///< "name" for the first
  std::string description;
  int priority = 0; ///< 1: only with -o wide
};

struct TableShape {
  std::vector<Column> columns;
  /// Fills the cells of one object, one for each column. Fields that are missing or of another type
  /// show as in Kubernetes: <none>, <unknown>, "", 0.
  boost::json::array (*cells)(const TableShape& shape, const api::Object& object,
                              TimePoint now) = nullptr;
  std::vector<std::string> paths; ///< custom resources: each column's JSONPath
};

struct TableRow {
  boost::json::array cells;
  boost::json::array conditions; ///< of the row, e.g. that its pod is done; mostly empty
};

/// Kinds without columns of their own have Name and Age.
TableShape table_shape(const schema::Resource& resource);
boost::json::array column_definitions(const TableShape& shape);
TableRow table_row(const TableShape& shape, const api::Object& object, TimePoint now);

} // namespace berth::server
