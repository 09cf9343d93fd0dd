// The parts of preemption: victims on one node, and which candidate is best (spec 5.2, 5.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <variant>
#include <vector>

#include "berth/sched/filter_session.h"

namespace berth::sched {

/// A node and whom to evict there, most important first.
struct PreemptionCandidate {
  NodeId node;
  std::vector<PodPtr> victims;
  std::int64_t budget_violations = 0;
};

/// Why a node is no candidate: nobody to evict, or the filter that fails even without them.
struct NoVictims {};
struct StillFailing {
  NodeFailure failure;
};
using DryRun = std::variant<PreemptionCandidate, NoVictims, StillFailing>;

/// Removes all lower-priority pods, then takes back (reprieves) as many as fit: those protected by
/// budgets first, each group from the most important. Session and state are as before afterwards.
DryRun select_victims(FilterSession& session, NodeId node);

/// Higher priority first, then the earlier start; a pod that has not started counts as starting
/// now.
bool more_important(const PodInfo& a, const PodInfo& b, TimePoint now);

/// What a candidate costs, smaller is better, component by component: budget violations, highest
/// victim priority, sum of (priority + 2^31), number of victims, minus the earliest start among the
/// most important victims. Candidates of equal cost are interchangeable.
using CandidateCost =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::size_t, std::int64_t>;
CandidateCost candidate_cost(const PreemptionCandidate& candidate, TimePoint now);

/// The candidate of least cost, the first of equals. Precondition: not empty.
const PreemptionCandidate& pick_candidate(std::span<const PreemptionCandidate> candidates,
                                          TimePoint now);

} // namespace berth::sched
