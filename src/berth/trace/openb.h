// The openb traces (Alibaba cluster-trace-gpu-v2023): nodes and pods as comma-separated tables, and
// the arrival orders of the published FGD experiments. Formats: spec simulators A.3, B.1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/sched/fragmentation.h"

namespace berth::trace {

struct TraceNode {
  std::string name;
  std::int64_t cpu = 0; ///< milli
  std::int64_t memory_mib = 0;
  int gpus = 0;
  std::string model;
};

struct TracePod {
  std::string name;
  std::int64_t memory_mib = 0;
  sched::GpuDemand demand;
};

/// Which row of the node table has rank 0, 1, ...; which rows of the pod table arrive, in order,
/// some more than once.
struct ArrivalOrder {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> pods;
};

/// Columns are found by name; others are ignored. Errors name file and line: a column that is
/// missing, a number that is none, a row that is too short.
Result<std::vector<TraceNode>> read_nodes(const std::filesystem::path& file);
Result<std::vector<TracePod>> read_pods(const std::filesystem::path& file);
/// Gzipped or plain: the number of nodes, then "row rank" of each; the number of arrivals, then a
/// row of each. Errors also name rows that the tables do not have and ranks that are no
/// permutation.
Result<ArrivalOrder> read_order(const std::filesystem::path& file, std::size_t nodes,
                                std::size_t pods);

/// A table of text with a header, as these files are written: no quotes.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  /// Index of a column; columns.size() if there is none.
  std::size_t column(std::string_view name) const;
};
Result<Table> read_table(const std::filesystem::path& file);

} // namespace berth::trace
