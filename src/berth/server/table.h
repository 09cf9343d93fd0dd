// Tables, as kubectl get shows them: which columns a kind has, and an object's cells. Source:
// kubernetes 1.34 pkg/printers/internalversion/printers.go (its wide form, which is what an API
// server always answers); rest.NewDefaultTableConvertor for kinds without a printer;
// apiextensions' tableconvertor for custom resources.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "berth/api/object.h"
#include "berth/base/time.h"
#include "berth/schema/resource.h"

namespace berth::server {

/// What a cell is made from.
struct Row {
  const api::Object& object;
  TimePoint now; ///< ages count up to here

  const boost::json::value& document() const { return object.json(); }
};

/// Makes one cell. Fields that are missing or of another type show as in Kubernetes: <none>,
/// <unknown>, "", 0.
using Cell = std::function<boost::json::value(const Row&)>;

struct Column {
  std::string name;
  std::string type = "string"; ///< string, integer, number, boolean, date
  std::string format;          ///< "name" for the object's name
  std::string description;
  int priority = 0; ///< 1: only with -o wide
  Cell cell;        ///< never empty
};

struct TableShape {
  std::vector<Column> columns;
  /// Of the row, e.g. that its pod is done. nullptr: none.
  boost::json::array (*conditions)(const Row& row) = nullptr;
};

struct TableRow {
  boost::json::array cells;      ///< one for each column
  boost::json::array conditions; ///< metav1.TableRowCondition; mostly empty
};

/// Columns of GPUs, which Kubernetes has not got: after its own, of priority 1, on nodes (GPUs,
/// GPU-Model) and pods (GPUs, GPU-Indices).
enum class GpuColumns { Hidden, Shown };

/// Built-in kinds without columns of their own have Name and Created At; custom resources have Name
/// and their version's additionalPrinterColumns, Name and Age if it has none.
TableShape table_shape(const schema::Resource& resource, GpuColumns gpus = GpuColumns::Hidden);
/// columnDefinitions of a metav1.Table.
boost::json::array column_definitions(const TableShape& shape);
TableRow table_row(const TableShape& shape, const api::Object& object, TimePoint now);

} // namespace berth::server
