// A run as text: the timeline's lines, and the report after it.
#pragma once

#include <cstddef>
#include <string>

#include "berth/report/run_report.h"
#include "berth/report/table.h"

namespace berth::report {

/// One line of the timeline, without its line break: clock, object, step, detail. `object_width`
/// aligns the steps.
std::string render_timeline_line(const TimelineLine& line, std::size_t object_width,
                                 const TableStyle& style);

/// "cluster  6 nodes, 48 GPUs: 4 dgx-h100, 2 l40s-pcie-8", "run      seed 1, virtual time, ...",
/// and, where a file gives them, "profiles default-scheduler (rules of 1.36); from FILE".
std::string render_cluster(const ClusterLine& cluster, const Painter& paint);

/// Tables of pods, jobs and gangs, the GPU map, what was rejected, what is not running and why, and
/// a summary. Sections without content are left out.
std::string render_run(const RunReport& report, const TableStyle& style);

} // namespace berth::report
