#include "berth/gang/choose_domain.h"

#include <algorithm>
#include <tuple>

#include "berth/gang/place_group.h"

namespace berth::gang {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

std::string annotation(std::span<const sched::PodPtr> pods, std::string_view key) {
  for (const sched::PodPtr& pod : pods) {
    if (const auto it = pod->pod->meta.annotations.find(key);
        it != pod->pod->meta.annotations.end()) {
      return it->second;
    }
  }
  return "";
}

/// The usual levels, and what the group names beside them.
std::vector<std::string> levels_for(const std::string& named) {
  std::vector<std::string> levels = default_topology_levels();
  if (named == kHostname) {
    levels.push_back(named);
  } else if (!named.empty() && std::ranges::find(levels, named) == levels.end()) {
    levels.insert(levels.begin(), named);
  }
  return levels;
}

/// How many of the pods fit on each node, by NodeId::index(), each node for itself.
std::vector<std::int64_t> members_by_node(sched::Decider& decider,
                                          std::span<const sched::PodPtr> pods, TimePoint now) {
  sched::ClusterState& state = decider.state();
  std::vector<std::int64_t> fitting(state.node_slots(), 0);
  sched::FilterSession session(decider.framework(), state, pods.front(), now);
  if (!session.prepare().ok()) {
    return fitting;
  }
  for (const sched::NodeId node : session.candidates()) {
    std::vector<sched::Undo> placed;
    while (placed.size() < pods.size() && session.filter(node).verdict.ok()) {
      const sched::PodPtr& pod = pods[placed.size()];
      placed.push_back(state.try_assume(pod, node));
      session.added(*pod, node);
    }
    fitting[node.index()] = std::ssize(placed);
    while (!placed.empty()) {
      placed.pop_back();
      session.removed(*pods[placed.size()], node);
    }
  }
  return fitting;
}

/// Domains the group may be in: the whole cluster, or those of the required level that hold all
/// members placed earlier.
std::vector<std::size_t> allowed(const GroupTopology& topology, const GroupRequest& request) {
  if (topology.required_key.empty()) {
    return {0};
  }
  std::vector<std::size_t> found;
  const auto& domains = topology.tree.domains();
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const auto holds = [&](sched::NodeId node) {
      return std::ranges::binary_search(domains[i].nodes, node);
    };
    if (domains[i].key == topology.required_key && !domains[i].loose &&
        std::ranges::all_of(request.placed_on, holds)) {
      found.push_back(i);
    }
  }
  return found;
}

} // namespace

bool of_one_shape(std::span<const sched::PodPtr> pods) {
  return pods.front()->shape.valid() && std::ranges::all_of(pods, [&](const sched::PodPtr& pod) {
           return pod->shape == pods.front()->shape;
         });
}

GroupTopology topology_for(const sched::ClusterState& state, std::span<const sched::PodPtr> pods) {
  std::string required = annotation(pods, kRequiredTopology);
  const std::string named = required.empty() ? annotation(pods, kPreferredTopology) : required;
  return {.tree = TopologyTree(state, levels_for(named)), .required_key = std::move(required)};
}

DomainChoice choose_domain(sched::Decider& decider, std::span<const sched::PodPtr> pods,
                           const GroupRequest& request, const GroupTopology& topology) {
  DomainChoice choice;
  const std::int64_t count = std::ssize(pods);
  const std::int64_t needed =
      std::max<std::int64_t>(1, request.min_member - request.already_placed);
  choice.by_node = members_by_node(decider, pods, request.options.now);
  const RoomByDomain room(topology.tree, choice.by_node, request.placed_on, count);
  const std::vector<std::size_t> domains = allowed(topology, request);
  for (const std::size_t domain : domains) {
    choice.most = std::max(choice.most, room.capacity(domain));
  }
  const std::int64_t members = std::min(count, choice.most);
  if (members < needed) {
    return choice;
  }
  std::optional<std::size_t> best;
  const auto quality = [&](std::size_t domain) {
    return std::tuple(room.spread(domain, members), room.capacity(domain));
  };
  for (const std::size_t domain : domains) {
    if (room.capacity(domain) >= members && (!best || quality(domain) < quality(*best))) {
      best = domain;
    }
  }
  choice.shares = room.share_out(*best, members);
  choice.nodes = topology.tree.domains()[*best].nodes;
  return choice;
}

std::vector<std::vector<sched::NodeId>> allowed_domains(const sched::ClusterState& state,
                                                        const GroupRequest& request,
                                                        const GroupTopology& topology) {
  std::vector<std::pair<std::int64_t, std::size_t>> by_room;
  for (const std::size_t domain : allowed(topology, request)) {
    std::int64_t free = 0;
    for (const sched::NodeId node : topology.tree.domains()[domain].nodes) {
      free += state.node(node).allocatable.get(sched::kGpu) -
              state.node(node).requested.get(sched::kGpu);
    }
    by_room.emplace_back(-free, domain);
  }
  std::ranges::sort(by_room);
  std::vector<std::vector<sched::NodeId>> domains;
  for (const auto& [free, domain] : by_room) {
    domains.push_back(topology.tree.domains()[domain].nodes);
  }
  return domains;
}

} // namespace berth::gang
