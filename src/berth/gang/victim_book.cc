#include "berth/gang/victim_book.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "berth/sched/preemption.h"

namespace berth::gang {
namespace {

/// Members that have a node and are to stay there.
bool stays(const sched::PlacedPod& placed) {
  return !placed.pod->pod->meta.deletion_timestamp;
}

} // namespace

/// What a set of victims comes to, before budgets are asked.
struct VictimBook::Toll {
  std::map<std::size_t, std::int64_t> budgets;
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();
  std::int64_t groups = 0;
  std::int64_t gpus = 0;
  std::int64_t priorities = 0;
  std::int64_t victims = 0;
  TimePoint earliest = TimePoint::max();
};

bool cheaper_per_member(const EvictionCost& a, std::int64_t gain, const EvictionCost& b,
                        std::int64_t b_gain) {
  const auto key = [](const EvictionCost& cost, std::int64_t times) {
    return std::tuple(cost.violations * times, cost.highest, cost.groups * times, cost.gpus * times,
                      cost.priorities * times, cost.victims * times, cost.latest);
  };
  return key(a, b_gain) < key(b, gain);
}

VictimBook::VictimBook(const sched::ClusterState& state, const Groups& groups,
                       const Preemptor& preemptor)
    : preemptor_(preemptor), by_node_(state.node_slots()) {
  index_budgets(state);
  for (const sched::NodeId node : state.nodes()) {
    for (const sched::PodSlot slot : state.node(node).pods) {
      const sched::PlacedPod& placed = state.placed(slot);
      const sched::PodInfo& pod = *placed.pod;
      const auto group = group_index(pod, state, groups);
      const bool own = group && groups_[*group].key == preemptor_.group;
      const bool may_go = pod.priority < preemptor_.priority && !own &&
                          (!group || groups_[*group].may_break || groups_[*group].spare > 0);
      if (!may_go) {
        continue;
      }
      const VictimId id = victims_.size();
      const bool leaving = !stays(placed);
      victims_.push_back({.placed = placed,
                          .group = leaving ? std::nullopt : group,
                          .budgets = leaving ? std::vector<std::size_t>() : budgets_of(pod),
                          .leaving = leaving,
                          .out = leaving});
      by_node_[node.index()].push_back(id);
      if (victims_.back().group) {
        groups_[*group].members.push_back(id);
      }
    }
  }
}

std::optional<std::size_t> VictimBook::group_index(const sched::PodInfo& pod,
                                                   const sched::ClusterState& state,
                                                   const Groups& groups) {
  if (pod.pod->pod_group().empty()) {
    return std::nullopt;
  }
  const api::Key key = group_of(pod);
  const auto [entry, fresh] = group_of_.try_emplace(key);
  const model::PodGroup* group = fresh ? groups.find(key) : nullptr;
  if (group == nullptr) {
    return entry->second;
  }
  VictimGroup found{.key = key};
  std::int64_t staying = 0;
  found.priority = std::numeric_limits<std::int64_t>::min();
  for (const Groups::Member& member : groups.members(key)) {
    const sched::PlacedPod* placed = state.find_pod(member.pod->uid);
    staying += member.succeeded || (placed != nullptr && stays(*placed)) ? 1 : 0;
    if (placed != nullptr && stays(*placed)) {
      found.priority = std::max(found.priority, placed->pod->priority);
    }
  }
  found.runs = staying >= group->min_member;
  found.spare = std::max<std::int64_t>(0, staying - group->min_member);
  found.may_break = found.priority < preemptor_.priority;
  entry->second = groups_.size();
  groups_.push_back(std::move(found));
  return entry->second;
}

// ---- budgets

void VictimBook::index_budgets(const sched::ClusterState& state) {
  for (const auto& [key, budget] : state.budgets()) {
    if (!budget->selector.empty()) {
      budgets_.push_back(budget.get());
      left_.push_back(budget->disruptions_allowed);
    }
  }
}

std::vector<std::size_t> VictimBook::budgets_of(const sched::PodInfo& pod) const {
  std::vector<std::size_t> found;
  const auto& meta = pod.pod->meta;
  if (meta.labels.empty()) {
    return found;
  }
  // Budgets are sorted by namespace.
  const auto of_namespace = std::ranges::equal_range(
      budgets_, meta.ns, {},
      [](const sched::DisruptionBudget* budget) -> const std::string& { return budget->key.ns; });
  for (auto it = of_namespace.begin(); it != of_namespace.end(); ++it) {
    if ((*it)->selector.matches(meta.labels) && !(*it)->disrupted_pods.contains(meta.name)) {
      found.push_back(static_cast<std::size_t>(it - budgets_.begin()));
    }
  }
  return found;
}

bool VictimBook::violates(VictimId id) const {
  return std::ranges::any_of(victims_[id].budgets,
                             [&](std::size_t budget) { return left_[budget] < 0; });
}

// ---- costs

bool VictimBook::more_important(VictimId a, VictimId b) const {
  return sched::more_important(*victims_[a].placed.pod, *victims_[b].placed.pod, preemptor_.now);
}

void VictimBook::count(VictimId id, Toll& toll) const {
  const sched::PodInfo& pod = *victims_[id].placed.pod;
  const TimePoint start = pod.pod->status.start_time.value_or(preemptor_.now);
  if (pod.priority > toll.highest) {
    toll.highest = pod.priority;
    toll.earliest = start;
  } else if (pod.priority == toll.highest) {
    toll.earliest = std::min(toll.earliest, start);
  }
  toll.gpus += pod.gpus;
  toll.priorities += pod.priority + (std::int64_t{1} << 31);
  ++toll.victims;
  for (const std::size_t budget : victims_[id].budgets) {
    ++toll.budgets[budget];
  }
}

EvictionCost VictimBook::cost_of(const Toll& toll) const {
  EvictionCost cost{.highest = toll.highest,
                    .groups = toll.groups,
                    .gpus = toll.gpus,
                    .priorities = toll.priorities,
                    .victims = toll.victims,
                    .latest = toll.victims == 0 ? 0 : -toll.earliest.unix_nanos()};
  for (const auto& [budget, pods] : toll.budgets) {
    cost.violations += std::max<std::int64_t>(0, pods - std::max<std::int64_t>(0, left_[budget]));
  }
  return cost;
}

std::vector<std::size_t> VictimBook::broken_by(std::span<const VictimId> more) const {
  std::map<std::size_t, std::int64_t> going;
  for (const VictimId id : more) {
    if (victims_[id].group) {
      ++going[*victims_[id].group];
    }
  }
  std::vector<std::size_t> broken;
  for (const auto& [group, pods] : going) {
    if (!groups_[group].whole() && groups_[group].out + pods > groups_[group].spare) {
      broken.push_back(group);
    }
  }
  return broken;
}

std::vector<VictimId> VictimBook::closed(std::vector<VictimId> more) const {
  for (const std::size_t group : broken_by(more)) {
    std::erase_if(more, [&](VictimId id) { return victims_[id].group == group; });
    std::ranges::copy_if(groups_[group].members, std::back_inserter(more),
                         [&](VictimId id) { return !victims_[id].out; });
  }
  return more;
}

EvictionCost VictimBook::cost(std::span<const VictimId> more) const {
  Toll toll;
  const std::vector<std::size_t> broken = broken_by(more);
  for (const VictimId id : more) {
    const auto group = victims_[id].group;
    if (!group || !std::ranges::binary_search(broken, *group)) {
      count(id, toll);
    }
  }
  for (const std::size_t group : broken) {
    toll.groups += groups_[group].runs ? 1 : 0;
    for (const VictimId id : groups_[group].members) {
      if (!victims_[id].out) {
        count(id, toll);
      }
    }
  }
  return cost_of(toll);
}

std::pair<std::int64_t, bool> VictimBook::weight(VictimId id, std::int64_t of_group_on_node) const {
  const Victim& victim = victims_[id];
  if (!victim.group) {
    return {victim.placed.pod->priority, false};
  }
  const VictimGroup& group = groups_[*victim.group];
  const bool breaks = !group.whole() && group.out + of_group_on_node > group.spare;
  return {breaks ? group.priority : victim.placed.pod->priority, breaks};
}

std::vector<VictimId> VictimBook::removable(sched::NodeId node) const {
  std::vector<VictimId> ids;
  std::map<std::size_t, std::int64_t> of_group;
  const auto add = [&](VictimId id, bool started) {
    const Victim& victim = victims_[id];
    if (!victim.out && victim.placed.pod->pod->status.start_time.has_value() == started) {
      ids.push_back(id);
      if (victim.group) {
        ++of_group[*victim.group];
      }
    }
  };
  // Of pods that have not started the later arrival counts as more important, as kube-scheduler's
  // sort leaves them.
  std::for_each(on(node).rbegin(), on(node).rend(), [&](VictimId id) { add(id, false); });
  std::ranges::for_each(on(node), [&](VictimId id) { add(id, true); });
  std::ranges::stable_sort(ids, [&](VictimId a, VictimId b) { return more_important(a, b); });
  // Of a group that may not break only the least important may go.
  std::map<std::size_t, std::int64_t> spare;
  std::vector<VictimId> may_go;
  std::for_each(ids.rbegin(), ids.rend(), [&](VictimId id) {
    const auto group = victims_[id].group;
    if (!group || groups_[*group].may_break ||
        groups_[*group].out + ++spare[*group] <= groups_[*group].spare) {
      may_go.push_back(id);
    }
  });
  std::ranges::reverse(may_go);
  std::map<std::size_t, std::int64_t> drawn;
  std::vector<std::tuple<bool, std::int64_t, bool, VictimId>> keyed;
  for (const VictimId id : may_go) {
    bool violating = false;
    for (const std::size_t budget : victims_[id].budgets) {
      violating = ++drawn[budget] > left_[budget] || violating;
    }
    const auto group = victims_[id].group;
    const auto [priority, breaks] = weight(id, group ? of_group[*group] : 0);
    keyed.emplace_back(!violating, -priority, !breaks, id);
  }
  std::ranges::stable_sort(keyed, {}, [](const auto& key) {
    return std::tuple(std::get<0>(key), std::get<1>(key), std::get<2>(key));
  });
  std::vector<VictimId> dearest_first;
  for (const auto& key : keyed) {
    dearest_first.push_back(std::get<3>(key));
  }
  return dearest_first;
}

// ---- taking

void VictimBook::take(std::span<const VictimId> closed) {
  for (const VictimId id : closed) {
    victims_[id].out = true;
    if (victims_[id].group) {
      ++groups_[*victims_[id].group].out;
    }
    for (const std::size_t budget : victims_[id].budgets) {
      --left_[budget];
    }
  }
}

void VictimBook::give_back(std::span<const VictimId> taken) {
  for (const VictimId id : taken) {
    victims_[id].out = false;
    if (victims_[id].group) {
      --groups_[*victims_[id].group].out;
    }
    for (const std::size_t budget : victims_[id].budgets) {
      ++left_[budget];
    }
  }
}

void VictimBook::reset() {
  give_back(taken());
}

std::vector<VictimId> VictimBook::taken() const {
  std::vector<VictimId> ids;
  for (VictimId id = 0; id < victims_.size(); ++id) {
    if (victims_[id].out && !victims_[id].leaving) {
      ids.push_back(id);
    }
  }
  return ids;
}

} // namespace berth::gang
