#include "berth/gang/choose_domain.h"

#include <algorithm>
#include <tuple>

#include "berth/gang/place_group.h"
#include "berth/gang/topology_tree.h"
#include "berth/sched/open_gpus.h"

namespace berth::gang {
namespace {

constexpr std::size_t kMostTries = 16;
constexpr std::string_view kHostname = "kubernetes.io/hostname";

std::string annotation(const sched::PodInfo& pod, std::string_view key) {
  const auto it = pod.pod->meta.annotations.find(key);
  return it == pod.pod->meta.annotations.end() ? std::string() : it->second;
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

bool of_one_shape(std::span<const sched::PodPtr> pods) {
  return pods.front()->shape.valid() && std::ranges::all_of(pods, [&](const sched::PodPtr& pod) {
           return pod->shape == pods.front()->shape;
         });
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

std::vector<std::int64_t> free_gpus_by_node(const sched::ClusterState& state) {
  std::vector<std::int64_t> free(state.node_slots(), 0);
  for (const sched::NodeId node : state.nodes()) {
    const sched::NodeInfo& info = state.node(node);
    free[node.index()] = info.gpus.all != 0
                             ? sched::open_gpu_count(info.gpus)
                             : info.allocatable.get(sched::kGpu) - info.requested.get(sched::kGpu);
  }
  return free;
}

std::int64_t inside(const Domain& domain, std::span<const sched::NodeId> nodes) {
  return std::ranges::count_if(
      nodes, [&](sched::NodeId node) { return std::ranges::binary_search(domain.nodes, node); });
}

/// Domains of at least `wanted` capacity that may hold the group, the best first: with most of its
/// placed members, then narrowest, then fullest.
std::vector<std::size_t> ordered_domains(const TopologyTree& tree,
                                         const std::vector<std::int64_t>& capacities,
                                         std::int64_t wanted, const GroupRequest& request,
                                         const std::string& required_key) {
  const auto& domains = tree.domains();
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const bool level_fits = required_key.empty() || domains[i].key == required_key;
    const bool with_siblings = required_key.empty() || inside(domains[i], request.placed_on) ==
                                                           std::ssize(request.placed_on);
    if (level_fits && with_siblings && !domains[i].loose && capacities[i] >= wanted) {
      found.push_back(i);
    }
  }
  std::ranges::stable_sort(found, {}, [&](std::size_t i) {
    return std::tuple(-inside(domains[i], request.placed_on),
                      -static_cast<std::int64_t>(domains[i].depth), capacities[i]);
  });
  found.resize(std::min(found.size(), kMostTries));
  return found;
}

DomainChoice divided(const TopologyTree& tree, const std::vector<std::int64_t>& capacities,
                     std::size_t domain, std::int64_t members) {
  DomainChoice choice{.shares = {}, .nodes = tree.domains()[domain].nodes};
  for (const auto& [leaf, share] : share_out(tree, capacities, domain, members)) {
    choice.shares.push_back({.nodes = tree.domains()[leaf].nodes, .members = share});
  }
  return choice;
}

} // namespace

DomainChoices choose_domains(sched::Decider& decider, std::span<const sched::PodPtr> pods,
                             const GroupRequest& request) {
  DomainChoices choices;
  choices.required_key = annotation(*pods.front(), kRequiredTopology);
  const std::string preferred = annotation(*pods.front(), kPreferredTopology);
  const TopologyTree tree(
      decider.state(), levels_for(choices.required_key.empty() ? preferred : choices.required_key));
  if (tree.flat() && choices.required_key.empty()) {
    return choices;
  }
  const std::int64_t count = std::ssize(pods);
  const std::int64_t needed =
      std::max<std::int64_t>(1, request.min_member - request.already_placed);
  if (of_one_shape(pods)) {
    const auto capacities =
        domain_capacities(tree, members_by_node(decider, pods, request.options.now));
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      choices.most = tree.domains()[i].key == choices.required_key
                         ? std::max(choices.most, capacities[i])
                         : choices.most;
    }
    // As many as fit at all; but a required domain may hold fewer than pend, if enough for the
    // group.
    const std::int64_t all = std::min(count, capacities.front());
    for (const std::int64_t wanted : {all, std::min(needed, all)}) {
      if (wanted < needed || !choices.best_first.empty()) {
        break;
      }
      for (const std::size_t domain :
           ordered_domains(tree, capacities, wanted, request, choices.required_key)) {
        choices.best_first.push_back(
            divided(tree, capacities, domain, std::min(count, capacities[domain])));
      }
    }
    return choices;
  }
  const auto free = domain_capacities(tree, free_gpus_by_node(decider.state()));
  std::int64_t gpus = 0;
  std::ranges::for_each(pods, [&](const sched::PodPtr& pod) { gpus += pod->gpus; });
  for (const std::size_t domain : ordered_domains(
           tree, free, choices.required_key.empty() ? gpus : 0, request, choices.required_key)) {
    const auto& nodes = tree.domains()[domain].nodes;
    choices.best_first.push_back({.shares = {{.nodes = nodes, .members = count}}, .nodes = nodes});
  }
  return choices;
}

} // namespace berth::gang
