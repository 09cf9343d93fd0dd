// One scheduling cycle (spec 1.1-1.4): prepare, filter every node, score, choose, assume, reserve,
// permit; or say why not and whom to preempt. The answer is a value; the only effect is on the
// ClusterState, where a placed pod is assumed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/base/rng.h"
#include "berth/sched/decision_table.h"
#include "berth/sched/extender.h"
#include "berth/sched/framework.h"

namespace berth::sched {

enum class Outcome {
  Scheduled,     ///< assumed on `node`; bind it
  Waiting,       ///< assumed on `node`; hold it (WaitingPods) before binding
  Unschedulable, ///< PodScheduled=False, reason Unschedulable
  Error,         ///< PodScheduled=False, reason SchedulerError
};

struct Decision {
  Outcome outcome = Outcome::Unschedulable;
  // Scheduled, Waiting
  NodeId node;
  std::string node_name;
  hardware::GpuMask gpus = 0;
  std::map<std::string, std::string>
      annotations;                       ///< PreBind writes these to the pod, with gpu-indices
  VolumePlan volumes;                    ///< PreBind writes this, and waits for the claims
  std::map<std::string, Duration> waits; ///< Permit: plugin -> timeout
  // Unschedulable, Error
  std::string message;                            ///< untruncated
  std::vector<std::string> unschedulable_plugins; ///< sorted; for the queue
  std::vector<std::string> pending_plugins;
  std::optional<std::string> nominated_node; ///< write to status; "" clears it
  std::vector<PodPtr> victims;               ///< evict these
  std::vector<PodPtr> denominated;           ///< clear their status.nominatedNodeName
  std::string preemption_note;               ///< why these victims, for their events; "": unsaid
  bool reserved_then_lost = false; ///< Reserve or Permit failed: wake others with AssignedPodDelete
  /// Not empty: no decision yet. Ask, and decide again with the answers (CycleOptions::extenders).
  std::vector<ExtenderQuestion> questions;
  // always
  Effects effects;
  std::int64_t feasible_nodes = 0;
  std::unique_ptr<DecisionTable> table;

  bool placed() const { return outcome == Outcome::Scheduled || outcome == Outcome::Waiting; }
};

inline constexpr std::string_view kReasonElsewhere =
    "node(s) were outside the topology domain of the pod's group";

enum class Explain { No, Table };
/// Skip: nobody is preempted for this pod, e.g. since its group must fit as a whole first.
enum class PostFilters { Run, Skip };
enum class TieBreak { LowestIndex, Random };

class NodeSampling;

struct CycleOptions {
  Explain explain = Explain::No;
  TieBreak tie_break = TieBreak::LowestIndex;
  PostFilters post_filter = PostFilters::Run;
  Rng* rng = nullptr; ///< needed for TieBreak::Random
  /// Look at these nodes alone (sorted), e.g. one rack for a member of a group; the others fail
  /// with kReasonElsewhere.
  std::optional<std::span<const NodeId>> only;
  /// Used if the profile has a percentage of nodes; null: all nodes are looked at all the same.
  NodeSampling* sampling = nullptr;
  /// Null: no extender is interested in the pod.
  ExtenderTalk* extenders = nullptr;
  TimePoint now; ///< stands in for a missing start time in preemption
};

/// Decides one pod. Precondition: not placed. Postcondition: the state differs from before only by
/// the assumed pod (and the nomination it ends) when placed, and by the pod's nomination when
/// preempting; otherwise it is equal.
Decision schedule_one(Framework& framework, ClusterState& state, const PodPtr& pod,
                      const CycleOptions& options = {});

/// Takes a placed decision back: unreserve in reverse order, then forget. For failed binds,
/// rejected or expired waits.
Effects undo_decision(Framework& framework, ClusterState& state, const PodPtr& pod, NodeId node);

} // namespace berth::sched
