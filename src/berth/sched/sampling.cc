#include "berth/sched/sampling.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace berth::sched {
namespace {

constexpr std::size_t kFewestNodes = 100;
constexpr std::size_t kAll = 100; // percent
constexpr std::size_t kSmallClusterShare = 50;
constexpr std::size_t kNodesAPercent = 125;
constexpr std::size_t kLeastShare = 5;

using Zone = std::pair<std::string, std::string>;

Zone zone_of(const model::Node& node) {
  const auto label = [&](std::string_view name, std::string_view older) -> std::string {
    for (const std::string_view key : {name, older}) {
      if (const auto it = node.meta.labels.find(key); it != node.meta.labels.end()) {
        return it->second;
      }
    }
    return {};
  };
  return {label("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
          label("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")};
}

std::vector<NodeId> one_of_each_zone_in_turn(const ClusterState& state) {
  std::map<Zone, std::size_t> known;
  std::vector<std::vector<NodeId>> zones;
  for (const NodeId node : state.nodes()) {
    const auto [it, fresh] = known.try_emplace(zone_of(*state.node(node).node), zones.size());
    if (fresh) {
      zones.emplace_back();
    }
    zones[it->second].push_back(node);
  }
  std::vector<NodeId> order;
  order.reserve(state.nodes().size());
  for (std::size_t turn = 0; order.size() < state.nodes().size(); ++turn) {
    for (const auto& zone : zones) {
      if (turn < zone.size()) {
        order.push_back(zone[turn]);
      }
    }
  }
  return order;
}

} // namespace

std::size_t nodes_to_find(std::size_t nodes, std::int64_t percentage) {
  if (nodes < kFewestNodes || percentage >= static_cast<std::int64_t>(kAll)) {
    return nodes;
  }
  auto share = static_cast<std::size_t>(std::max<std::int64_t>(percentage, 0));
  if (share == 0) {
    const std::size_t less = nodes / kNodesAPercent;
    share = less + kLeastShare < kSmallClusterShare ? kSmallClusterShare - less : kLeastShare;
  }
  return std::max(nodes * share / kAll, kFewestNodes);
}

std::optional<std::size_t> nodes_to_find(const Framework& framework, std::size_t nodes) {
  if (!framework.percentage_of_nodes()) {
    return std::nullopt;
  }
  return framework.uses(Point::Score) ? nodes_to_find(nodes, *framework.percentage_of_nodes()) : 1;
}

std::vector<NodeId> NodeSampling::order(const ClusterState& state) {
  if (version_ != state.node_set_version()) {
    by_zone_ = one_of_each_zone_in_turn(state);
    version_ = state.node_set_version();
  }
  std::vector<NodeId> order = by_zone_;
  if (!order.empty()) {
    std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(start_ % order.size()));
  }
  return order;
}

void NodeSampling::looked_at(std::size_t nodes, std::size_t of) {
  start_ = of == 0 ? 0 : (start_ + nodes) % of;
}

} // namespace berth::sched
