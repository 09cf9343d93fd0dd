#include "berth/gang/preemption_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::gang {
namespace {

constexpr std::size_t kMostNamed = 3;

std::string_view plural(std::int64_t n) {
  return n == 1 ? "" : "s";
}

std::string name_of(const VictimUnit& unit) {
  if (unit.group.name.empty()) {
    return fmt::format("pod \"{}\" ({} GPU{}, priority {})",
                       unit.pods.front()->pod->key().to_string(), unit.gpus, plural(unit.gpus),
                       unit.priority);
  }
  return fmt::format("all of pod group \"{}\" ({} pod{}, {} GPU{}, priority {})",
                     unit.group.to_string(), unit.pods.size(), plural(std::ssize(unit.pods)),
                     unit.gpus, plural(unit.gpus), unit.priority);
}

} // namespace

std::vector<sched::PodPtr> PreemptionPlan::victims() const {
  std::vector<sched::PodPtr> pods;
  for (const VictimUnit& unit : units) {
    pods.insert(pods.end(), unit.pods.begin(), unit.pods.end());
  }
  return pods;
}

PreemptionPlan plan_of(const VictimBook& book, const sched::ClusterState& state,
                       std::span<const VictimId> ids) {
  std::vector<VictimId> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  std::ranges::stable_sort(sorted,
                           [&](VictimId a, VictimId b) { return book.more_important(a, b); });
  const std::vector<std::size_t> broken = book.broken_by(sorted);
  PreemptionPlan plan;
  plan.cost = book.cost(sorted);
  std::map<std::size_t, std::size_t> unit_of; // by group
  for (const VictimId id : sorted) {
    const Victim& victim = book.victims()[id];
    const bool whole = victim.group && std::ranges::binary_search(broken, *victim.group);
    const auto known = whole ? unit_of.find(*victim.group) : unit_of.end();
    if (known == unit_of.end()) {
      if (whole) {
        unit_of.emplace(*victim.group, plan.units.size());
      }
      plan.units.push_back({.group = whole ? book.groups()[*victim.group].key : api::Key(),
                            .pods = {},
                            .nodes = {},
                            .priority = victim.placed.pod->priority,
                            .gpus = 0});
    }
    VictimUnit& unit = known == unit_of.end() ? plan.units.back() : plan.units[known->second];
    unit.pods.push_back(victim.placed.pod);
    unit.nodes.push_back(state.node_name(victim.placed.node));
    unit.gpus += victim.placed.pod->gpus;
  }
  return plan;
}

std::vector<sched::PodPtr> losing_nomination(const sched::ClusterState& state, const Groups& groups,
                                             const PreemptionPlan& plan, std::int64_t priority) {
  std::map<std::string, sched::PodPtr> losing; // by uid
  for (const PreemptionPlan::Room& room : plan.rooms) {
    const auto node = state.find_node(room.node);
    if (!node) {
      continue;
    }
    for (const sched::PodPtr& other : state.nominated_to(*node)) {
      if (other->priority < priority && losing.emplace(other->uid, other).second) {
        for (const Groups::Member& sibling : groups.members(group_of(*other))) {
          losing.emplace(sibling.pod->uid, sibling.pod);
        }
      }
    }
  }
  std::vector<sched::PodPtr> pods;
  for (const auto& [uid, pod] : losing) {
    pods.push_back(pod);
  }
  return pods;
}

std::string sentence(const PreemptionPlan& plan, std::string_view whom) {
  const std::string goal =
      plan.rooms.size() == 1 ? fmt::format("{} fits on node {}", whom, plan.rooms.front().node)
                             : fmt::format("{} members of {} fit at once", plan.rooms.size(), whom);
  if (plan.units.empty()) {
    return fmt::format("{} once the pods that are being deleted there are gone", goal);
  }
  std::vector<std::string> names;
  for (const VictimUnit& unit : plan.units) {
    if (names.size() == kMostNamed) {
      names.push_back(fmt::format("{} more", plan.units.size() - kMostNamed));
      break;
    }
    names.push_back(name_of(unit));
  }
  const EvictionCost& cost = plan.cost;
  return fmt::format(
      "evicting {} so that {}; the cheapest set found on {} node{}: highest priority "
      "{}, {} running group{} broken, {} GPU{}, {} disruption budget{} violated",
      fmt::join(names, ", "), goal, plan.nodes_tried,
      plural(static_cast<std::int64_t>(plan.nodes_tried)), cost.highest, cost.groups,
      plural(cost.groups), cost.gpus, plural(cost.gpus), cost.violations, plural(cost.violations));
}

} // namespace berth::gang
