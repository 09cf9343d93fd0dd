// What the agents of this process count, on one page to scrape.
#pragma once

#include <string>

#include "berth/cluster/fleet.h"
#include "berth/node/agent_counts.h"
#include "berth/node/real_machine.h"

namespace berth::cli {

/// Of the fleet's agents that run, each series with its node. Belongs to the fleet's loop.
/// O(nodes).
node::AgentCounts::Families fleet_counts(cluster::Fleet& fleet);

/// The kubelet's metrics of devices and admission, in Prometheus' text format: those of a fleet,
/// and of the machine's own agent; the machine may be null.
std::string agents_page(node::AgentCounts::Families fleet, const node::RealMachine* machine);

} // namespace berth::cli
