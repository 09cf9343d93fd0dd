// The map of every node's GPUs: a row a node, a cell a GPU, and who holds it.
#pragma once

#include <string>

#include "berth/report/run_report.h"
#include "berth/report/table.h"

namespace berth::report {

/// Cells: a letter for each holder (explained at the end of its row), "." free, "!" unhealthy.
/// Letters go on from row to row and start again after Z; a row explains its own. On clusters of
/// more than 40 GPU nodes, nodes whose GPUs are all free are counted instead of drawn.
std::string render_gpu_map(const GpuMap& map, const TableStyle& style);

} // namespace berth::report
