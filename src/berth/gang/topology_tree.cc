#include "berth/gang/topology_tree.h"

#include <algorithm>
#include <map>

namespace berth::gang {

const std::vector<std::string>& default_topology_levels() {
  static const std::vector<std::string> kLevels = {
      "topology.kubernetes.io/region",
      "topology.kubernetes.io/zone",
      "cloud.google.com/gce-topology-block",
      "cloud.google.com/gce-topology-subblock",
      "topology.k8s.aws/network-node-layer-1",
      "topology.k8s.aws/network-node-layer-2",
      "topology.k8s.aws/network-node-layer-3",
      "berth.dev/block",
      "berth.dev/rack",
      "nvidia.com/gpu.clique",
  };
  return kLevels;
}

TopologyTree::TopologyTree(const sched::ClusterState& state,
                           const std::vector<std::string>& levels) {
  Domain whole;
  whole.nodes.assign(state.nodes().begin(), state.nodes().end());
  std::ranges::sort(whole.nodes);
  domains_.push_back(std::move(whole));
  divide(state, 0, levels, 0);
}

void TopologyTree::divide(const sched::ClusterState& state, std::size_t domain,
                          const std::vector<std::string>& levels, std::size_t level) {
  std::map<std::string, std::vector<sched::NodeId>> by_value;
  std::vector<sched::NodeId> without;
  for (; level < levels.size() && by_value.empty(); ++level) {
    without.clear();
    for (const sched::NodeId node : domains_[domain].nodes) {
      const api::Labels& labels = state.node(node).labels();
      const auto label = labels.find(levels[level]);
      (label == labels.end() ? without : by_value[label->second]).push_back(node);
    }
  }
  if (by_value.empty()) {
    return;
  }
  const auto add = [&](const std::string& value, bool loose, std::vector<sched::NodeId> nodes) {
    const std::size_t child = domains_.size();
    domains_.push_back({.key = levels[level - 1],
                        .value = value,
                        .loose = loose,
                        .depth = domains_[domain].depth + 1,
                        .children = {},
                        .nodes = std::move(nodes)});
    domains_[domain].children.push_back(child);
    divide(state, child, levels, level);
  };
  for (auto& [value, nodes] : by_value) {
    add(value, false, std::move(nodes));
  }
  if (!without.empty()) {
    add("", true, std::move(without));
  }
}

std::vector<std::int64_t> domain_capacities(const TopologyTree& tree,
                                            const std::vector<std::int64_t>& by_node) {
  std::vector<std::int64_t> capacities;
  for (const Domain& domain : tree.domains()) {
    std::int64_t sum = 0;
    for (const sched::NodeId node : domain.nodes) {
      sum += node.index() < by_node.size() ? by_node[node.index()] : 0;
    }
    capacities.push_back(sum);
  }
  return capacities;
}

} // namespace berth::gang
