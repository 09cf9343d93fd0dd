// What the agents of this process count, on one page to scrape.
#pragma once

#include <string>

#include "berth/cluster/fleet.h"
#include "berth/node/real_machine.h"

namespace berth::cli {

/// The kubelet's metrics of devices and admission, in Prometheus' text format, each series with its
/// node: of the fleet's agents that run and of the machine's own, which may be null. O(nodes).
std::string agent_metrics(cluster::Fleet& fleet, const node::RealMachine* machine);

} // namespace berth::cli
