// The tables of built-in kinds, by subject; those of custom resources; the columns of GPUs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "berth/schema/resource.h"
#include "berth/server/table.h"

namespace berth::server::tables {

struct KindShape {
  std::string_view group; ///< "" for core
  std::string_view kind;
  TableShape (*shape)();
};

std::span<const KindShape> core_shapes();
std::span<const KindShape> workload_shapes();
std::span<const KindShape> network_shapes();
std::span<const KindShape> storage_shapes();
std::span<const KindShape> access_shapes();
std::span<const KindShape> scheduling_shapes();

TableShape pod_shape();
TableShape node_shape();
TableShape event_shape();
TableShape autoscaler_shape();

/// Name and `columns`, or Age if there are none. A JSONPath that cannot be read finds nothing.
TableShape custom_shape(std::span<const schema::PrinterColumn> columns);

/// What GPUs add to the core kind `kind`; empty for most.
std::vector<Column> gpu_columns(std::string_view kind);

} // namespace berth::server::tables
