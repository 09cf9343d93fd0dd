#include "berth/cli/up/agent_metrics.h"

#include <utility>
#include <vector>

namespace berth::cli {

node::AgentCounts::Families fleet_counts(cluster::Fleet& fleet) {
  std::vector<node::NodeCounts> nodes;
  for (std::string& name : fleet.names()) {
    if (const node::Agent* agent = std::as_const(*fleet.find(name)).agent()) {
      nodes.push_back({.node = std::move(name), .counts = &agent->counts(), .asked = {}});
    }
  }
  return node::AgentCounts::families(nodes);
}

std::string agents_page(node::AgentCounts::Families fleet, const node::RealMachine* machine) {
  if (const node::Agent* agent = machine ? machine->agent() : nullptr) {
    node::AgentCounts::join(
        fleet, node::AgentCounts::families({{.node = machine->name(),
                                             .counts = &agent->counts(),
                                             .asked = machine->pod_resources_asked()}}));
  }
  return node::AgentCounts::page(fleet);
}

} // namespace berth::cli
