#include "berth/sched/preemption.h"

#include <algorithm>
#include <tuple>

#include "berth/sched/node_trial.h"

namespace berth::sched {
namespace {

TimePoint start_of(const PodInfo& pod, TimePoint now) {
  return pod.pod->status.start_time.value_or(now);
}

/// Splits by "evicting it breaks a budget", keeping the order (spec 5.2).
std::pair<std::vector<PlacedPod>, std::vector<PlacedPod>>
split_by_budgets(const ClusterState& state, std::vector<PlacedPod> pods) {
  std::vector<std::pair<const DisruptionBudget*, std::int64_t>> allowed;
  for (const auto& [key, budget] : state.budgets()) {
    if (!budget->selector.empty()) {
      allowed.emplace_back(budget.get(), budget->disruptions_allowed);
    }
  }
  std::vector<PlacedPod> violating;
  std::vector<PlacedPod> others;
  for (PlacedPod& placed : pods) {
    bool violates = false;
    const auto& meta = placed.pod->pod->meta;
    for (auto& [budget, left] : allowed) {
      if (budget->key.ns == meta.ns && !meta.labels.empty() &&
          budget->selector.matches(meta.labels) && !budget->disrupted_pods.contains(meta.name)) {
        --left;
        violates = violates || left < 0;
      }
    }
    (violates ? violating : others).push_back(std::move(placed));
  }
  return {std::move(violating), std::move(others)};
}

/// Eligible victims, most important first. Pods that have not started yet are compared as
/// kube-scheduler's sort leaves them: the later arrival counts as more important.
std::vector<PlacedPod> possible_victims(const ClusterState& state, NodeId node,
                                        const VictimRule& rule, TimePoint now) {
  std::vector<PlacedPod> pods;
  const auto& arrived = state.node(node).pods;
  for (auto it = arrived.rbegin(); it != arrived.rend(); ++it) {
    const PlacedPod& placed = state.placed(*it);
    if (!placed.pod->pod->status.start_time && rule.may_evict(*placed.pod)) {
      pods.push_back(placed);
    }
  }
  for (const PodSlot slot : arrived) {
    const PlacedPod& placed = state.placed(slot);
    if (placed.pod->pod->status.start_time && rule.may_evict(*placed.pod)) {
      pods.push_back(placed);
    }
  }
  std::ranges::stable_sort(pods, [&](const PlacedPod& a, const PlacedPod& b) {
    return more_important(*a.pod, *b.pod, now);
  });
  return pods;
}

} // namespace

bool LowerPriority::awaits(const PodInfo& pod) const {
  const auto* condition = pod.pod->status.condition("DisruptionTarget");
  return may_evict(pod) && pod.pod->meta.deletion_timestamp && condition != nullptr &&
         condition->status == "True" && condition->reason == "PreemptionByScheduler";
}

bool more_important(const PodInfo& a, const PodInfo& b, TimePoint now) {
  if (a.priority != b.priority) {
    return a.priority > b.priority;
  }
  return start_of(a, now) < start_of(b, now);
}

DryRun select_victims(FilterSession& session, NodeId node, const VictimRule& rule) {
  const ClusterState& state = session.state();
  const TimePoint now = session.now();
  const std::vector<PlacedPod> possible = possible_victims(state, node, rule, now);
  FilterSession* const sessions[] = {&session};
  NodeTrial trial(sessions, node);
  std::vector<PlacedPod> removed;
  for (auto it = possible.rbegin(); it != possible.rend(); ++it) {
    if (rule.may_evict(*it->pod)) {
      trial.remove(it->pod);
      removed.push_back(*it);
    }
  }
  if (removed.empty()) {
    return NoVictims{};
  }
  if (const NodeFailure failure = session.filter(node); !failure.verdict.ok()) {
    return StillFailing{failure};
  }
  if (const std::string_view objection = rule.objection(); !objection.empty()) {
    return StillObjected{objection};
  }
  std::ranges::reverse(removed);
  const auto [violating, others] = split_by_budgets(state, std::move(removed));
  PreemptionCandidate candidate{.node = node, .victims = {}, .budget_violations = 0};
  const auto reprieve = [&](const PlacedPod& placed) {
    trial.add(placed.pod, placed.gpus);
    if (session.filter(node).verdict.ok() && rule.objection().empty()) {
      return true;
    }
    trial.take_back();
    candidate.victims.push_back(placed.pod);
    return false;
  };
  for (const PlacedPod& placed : violating) {
    candidate.budget_violations += reprieve(placed) ? 0 : 1;
  }
  for (const PlacedPod& placed : others) {
    reprieve(placed);
  }
  std::ranges::stable_sort(candidate.victims, [&](const PodPtr& a, const PodPtr& b) {
    return more_important(*a, *b, now);
  });
  if (candidate.victims.empty()) {
    return NoVictims{};
  }
  return candidate;
}

CandidateCost candidate_cost(const PreemptionCandidate& candidate, TimePoint now) {
  const std::int64_t highest = candidate.victims.front()->priority;
  std::int64_t sum = 0;
  TimePoint earliest = TimePoint::max();
  for (const PodPtr& victim : candidate.victims) {
    sum += victim->priority + (std::int64_t{1} << 31);
    if (victim->priority == highest) {
      earliest = std::min(earliest, start_of(*victim, now));
    }
  }
  return {candidate.budget_violations, highest, sum, candidate.victims.size(),
          -earliest.unix_nanos()};
}

const PreemptionCandidate& pick_candidate(std::span<const PreemptionCandidate> candidates,
                                          TimePoint now) {
  return *std::ranges::min_element(candidates, {}, [&](const PreemptionCandidate& candidate) {
    return candidate_cost(candidate, now);
  });
}

} // namespace berth::sched
