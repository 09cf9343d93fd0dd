// The parts of preemption: whom a pod may evict, victims on one node, and which candidate is best
// (spec 5.2, 5.3).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "berth/sched/filter_session.h"

namespace berth::sched {

/// Whom a preemptor may evict, and what must hold beside the filters once they are gone. Lives for
/// one cycle.
class VictimRule {
 public:
  virtual ~VictimRule() = default;

  /// With the state as it is; may only turn from yes to no as others are taken away.
  virtual bool may_evict(const PodInfo& pod) const = 0;
  /// Must the preemptor wait for this pod on its nominated node, since it is on its way out?
  virtual bool awaits(const PodInfo& pod) const = 0;
  /// Why the preemptor cannot have the room that the filters see; "" if it can.
  virtual std::string_view objection() const { return {}; }
  /// Does what it says of a pod depend on the preemptor's shape and on that pod alone, and does it
  /// never object? Then dry runs hold for others of the shape (DryRunMemo).
  virtual bool is_of_the_shape() const { return false; }
};

inline constexpr std::string_view kReasonNoVictims = "No preemption victims found for incoming pod";

/// kube-scheduler's own rule: pods of lower priority may go.
class LowerPriority final : public VictimRule {
 public:
  explicit LowerPriority(const PodInfo& preemptor) : priority_(preemptor.priority) {}

  bool may_evict(const PodInfo& pod) const override { return pod.priority < priority_; }
  /// A victim of an earlier preemption that is on its way out.
  bool awaits(const PodInfo& pod) const override;
  bool is_of_the_shape() const override { return true; }

 private:
  std::int64_t priority_;
};

/// A node and whom to evict there, most important first.
struct PreemptionCandidate {
  NodeId node;
  std::vector<PodPtr> victims;
  std::int64_t budget_violations = 0;
};

/// Why a node is no candidate: nobody to evict, or the filter or objection that remains even
/// without them.
struct NoVictims {};
struct StillFailing {
  NodeFailure failure;
};
struct StillObjected {
  std::string_view objection;
};
using DryRun = std::variant<PreemptionCandidate, NoVictims, StillFailing, StillObjected>;

/// Removes all pods that may be evicted, from the least important, then takes back (reprieves) as
/// many as fit: those protected by budgets first, each group from the most important. Session and
/// state are as before afterwards.
DryRun select_victims(FilterSession& session, NodeId node, const VictimRule& rule);

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
