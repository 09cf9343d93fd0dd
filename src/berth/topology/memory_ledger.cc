#include "berth/topology/memory_ledger.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "berth/topology/stock_hints.h"

namespace berth::topology {
namespace {

std::int64_t amount_of(const MemoryAmounts& amounts, const std::string& resource) {
  const auto it = amounts.find(resource);
  return it == amounts.end() ? 0 : it->second;
}

// A preferred set before any other, then the narrowest.
std::optional<Hint> best_of(const std::vector<Hint>& sets) {
  const auto it = std::ranges::min_element(sets, [](const Hint& a, const Hint& b) {
    return a.preferred != b.preferred ? a.preferred : a.affinity->narrower_than(*b.affinity);
  });
  return it == sets.end() ? std::nullopt : std::optional(*it);
}

} // namespace

MemoryLedger::MemoryLedger(std::shared_ptr<const Machine> machine, MemoryRules rules)
    : machine_(std::move(machine)), rules_(std::move(rules)) {}

std::int64_t MemoryLedger::allocatable(NumaMask nodes, const std::string& resource) const {
  std::int64_t sum = 0;
  for (const MachineNuma& node : machine_->nodes) {
    if (nodes.has(node.id)) {
      const auto reserved = rules_.reserved.find(node.id);
      sum += amount_of(node.memory, resource) -
             (reserved == rules_.reserved.end() ? 0 : amount_of(reserved->second, resource));
    }
  }
  return sum;
}

// Nodes that are used are used by this very group.
bool MemoryLedger::may_group(NumaMask nodes) const {
  return std::ranges::none_of(assigned_, [&](const auto& each) {
    return each.second.nodes.meets(nodes) && each.second.nodes != nodes;
  });
}

std::int64_t MemoryLedger::free(NumaMask nodes, const std::string& resource) const {
  if (!may_group(nodes)) {
    return 0;
  }
  std::int64_t left = allocatable(nodes, resource);
  for (const auto& [place, assignment] : assigned_) {
    if (assignment.nodes == nodes) {
      left -= amount_of(assignment.amounts, resource);
    }
  }
  return left;
}

// What the pod has on these nodes that does not run beside the container.
std::int64_t MemoryLedger::reusable(const Request& request, NumaMask nodes,
                                    const std::string& resource) const {
  std::int64_t sum = 0;
  for (const auto& [place, assignment] : assigned_) {
    const bool own = place.pod_uid == request.ask->pod_uid && assignment.nodes == nodes;
    if (own && request.container && place.container != request.container->name &&
        !request.ask->runs_beside(request.container->name, place.container)) {
      sum += amount_of(assignment.amounts, resource);
    }
  }
  return sum;
}

bool MemoryLedger::enough(const Request& request, NumaMask nodes) const {
  return std::ranges::all_of(request.amounts, [&](const auto& each) {
    return free(nodes, each.first) + reusable(request, nodes, each.first) >= each.second;
  });
}

bool MemoryLedger::could_ever(const MemoryAmounts& amounts, NumaMask nodes) const {
  return std::ranges::all_of(
      amounts, [&](const auto& each) { return allocatable(nodes, each.first) >= each.second; });
}

std::vector<NumaMask> MemoryLedger::candidates(const Request& request) const {
  NumaMask nodes;
  for (const MachineNuma& node : machine_->nodes) {
    const bool any = std::ranges::any_of(
        request.amounts, [&](const auto& each) { return amount_of(node.memory, each.first) > 0; });
    nodes = any ? nodes | NumaMask::single(node.id) : nodes;
  }
  std::vector<int> best_first = nodes.ids();
  std::ranges::stable_sort(best_first, {}, [&](int id) {
    std::int64_t least = 0;
    for (const auto& [resource, bytes] : request.amounts) {
      least -= free(NumaMask::single(id), resource);
    }
    return least;
  });
  std::vector<NumaMask> sets = candidate_sets(nodes, 1, best_first);
  // Groups that are there can be joined, however many nodes the machine has.
  for (const auto& [place, assignment] : assigned_) {
    sets.push_back(assignment.nodes);
  }
  std::ranges::sort(sets);
  const auto repeated = std::ranges::unique(sets);
  sets.erase(repeated.begin(), repeated.end());
  return sets;
}

std::vector<Hint> MemoryLedger::sets_for(const Request& request) const {
  std::vector<Hint> found;
  int fewest = NumaMask::kMostNodes;
  for (const NumaMask set : candidates(request)) {
    if (!could_ever(request.amounts, set)) {
      continue;
    }
    fewest = std::min(fewest, set.count());
    if (may_group(set) && enough(request, set)) {
      found.push_back({.affinity = set, .preferred = false});
    }
  }
  for (Hint& hint : found) {
    hint.preferred = hint.affinity->count() == fewest;
  }
  return found;
}

std::vector<ResourceHints> MemoryLedger::hints_for(const Request& request) const {
  if (!active() || request.amounts.empty()) {
    return {};
  }
  const std::vector<Hint> sets = sets_for(request);
  std::vector<ResourceHints> hints;
  for (const auto& [resource, bytes] : request.amounts) {
    hints.push_back({.resource = resource, .hints = sets});
  }
  return hints;
}

std::vector<ResourceHints> MemoryLedger::hints(const PodAsk& ask,
                                               const ContainerAsk& container) const {
  if (const MemoryAssignment* own = active() ? find(ask.pod_uid, container.name) : nullptr) {
    std::vector<ResourceHints> again;
    for (const auto& [resource, bytes] : container.memory) {
      again.push_back({.resource = resource,
                       .hints = std::vector<Hint>{{.affinity = own->nodes, .preferred = true}}});
    }
    return again;
  }
  return hints_for({.ask = &ask, .container = &container, .amounts = container.memory});
}

std::vector<ResourceHints> MemoryLedger::pod_hints(const PodAsk& ask) const {
  const auto own = std::ranges::find_if(
      assigned_, [&](const auto& each) { return each.first.pod_uid == ask.pod_uid; });
  const MemoryAmounts amounts = pod_memory(ask);
  if (active() && own != assigned_.end()) {
    std::vector<ResourceHints> again;
    for (const auto& [resource, bytes] : amounts) {
      again.push_back(
          {.resource = resource,
           .hints = std::vector<Hint>{{.affinity = own->second.nodes, .preferred = true}}});
    }
    return again;
  }
  return hints_for({.ask = &ask, .container = nullptr, .amounts = amounts});
}

// The hint's nodes; without any, the best; with too little, the best that hold them.
Granted<NumaMask> MemoryLedger::choose(const Request& request, const Hint& hint) const {
  Hint best = hint;
  if (!hint.affinity) {
    const auto found = best_of(sets_for(request));
    if (!found) {
      return refuse("[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with "
                    "enough memory is available");
    }
    if (!found->preferred && hint.preferred) {
      return refuse("[memorymanager] failed to find the default preferred hint");
    }
    best = *found;
  }
  if (may_group(*best.affinity) && enough(request, *best.affinity)) {
    return *best.affinity;
  }
  std::vector<Hint> wider = sets_for(request);
  std::erase_if(wider, [&](const Hint& set) { return !set.affinity->contains(*best.affinity); });
  const auto found = best_of(wider);
  if (!found) {
    return refuse(may_group(*best.affinity)
                      ? "[memorymanager] failed to find NUMA nodes to extend the current topology "
                        "hint"
                      : "[memorymanager] preferred hint violates NUMA node allocation");
  }
  if (!found->preferred && best.preferred) {
    return refuse("[memorymanager] failed to find the extended preferred hint");
  }
  return *found->affinity;
}

Granted<void> MemoryLedger::assign(const PodAsk& ask, const ContainerAsk& container,
                                   const Hint& hint) {
  if (!active() || container.memory.empty() || find(ask.pod_uid, container.name)) {
    return {};
  }
  const Request request{.ask = &ask, .container = &container, .amounts = container.memory};
  BERTH_TRY(const NumaMask nodes, choose(request, hint));
  MemoryAssignment made{
      .pod_uid = ask.pod_uid, .container = container.name, .nodes = nodes, .amounts = {}};
  for (const auto& [resource, bytes] : container.memory) {
    made.amounts[resource] = std::max<std::int64_t>(bytes - reusable(request, nodes, resource), 0);
  }
  assigned_[Place{ask.pod_uid, container.name}] = std::move(made);
  return {};
}

bool MemoryLedger::record(const MemoryAssignment& assignment) {
  Place place{assignment.pod_uid, assignment.container};
  const auto before = assigned_.extract(place);
  const bool fits =
      active() && !assignment.nodes.empty() && machine_->all_nodes().contains(assignment.nodes) &&
      may_group(assignment.nodes) && std::ranges::all_of(assignment.amounts, [&](const auto& each) {
        return each.second >= 0 && free(assignment.nodes, each.first) >= each.second;
      });
  if (fits) {
    assigned_[std::move(place)] = assignment;
  } else if (!before.empty()) {
    assigned_[std::move(place)] = before.mapped();
  }
  return fits;
}

void MemoryLedger::erase(std::string_view pod_uid, std::string_view container) {
  assigned_.erase(Place{std::string(pod_uid), std::string(container)});
}

void MemoryLedger::erase_pod(std::string_view pod_uid) {
  std::erase_if(assigned_, [&](const auto& each) { return each.first.pod_uid == pod_uid; });
}

const MemoryAssignment* MemoryLedger::find(std::string_view pod_uid,
                                           std::string_view container) const {
  const auto it = assigned_.find(Place{std::string(pod_uid), std::string(container)});
  return it == assigned_.end() ? nullptr : &it->second;
}

std::vector<MemoryAssignment> MemoryLedger::all() const {
  std::vector<MemoryAssignment> all;
  for (const auto& [place, assignment] : assigned_) {
    all.push_back(assignment);
  }
  return all;
}

} // namespace berth::topology
