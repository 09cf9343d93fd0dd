#include "berth/cli/up/agent_metrics.h"

#include <utility>
#include <vector>

#include "berth/node/agent_counts.h"

namespace berth::cli {

std::string agent_metrics(cluster::Fleet& fleet, const node::RealMachine* machine) {
  std::vector<node::NodeCounts> nodes;
  for (std::string& name : fleet.names()) {
    if (const node::Agent* agent = std::as_const(*fleet.find(name)).agent()) {
      nodes.push_back({.node = std::move(name), .counts = &agent->counts(), .asked = {}});
    }
  }
  if (const node::Agent* agent = machine ? machine->agent() : nullptr) {
    nodes.push_back({.node = machine->name(),
                     .counts = &agent->counts(),
                     .asked = machine->pod_resources_asked()});
  }
  return node::AgentCounts::page(nodes);
}

} // namespace berth::cli
