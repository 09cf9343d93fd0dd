// What became of each PodGroup: how many of it ran together, where, and how fast their all-reduce
// would be.
#pragma once

#include <vector>

#include "berth/cli/run/holdings.h"
#include "berth/report/run_report.h"

namespace berth::cli {

/// By namespace and name. Placement is that of the moment when most members held a node.
std::vector<report::GangLine> gang_lines(const Observer& observer,
                                         const std::vector<Holding>& holdings,
                                         const cluster::Cluster& cluster, TimePoint end);

} // namespace berth::cli
