// The steps of a scheduling cycle that schedule_one and Decider share; private to this room.
#pragma once

#include <span>

#include "berth/sched/cycle.h"
#include "berth/sched/filter_session.h"

namespace berth::sched {

/// An empty cluster: only a node can help, so the pod waits for whatever plugins wait for nodes.
Decision decide_without_nodes(const Framework& framework);

/// From filtering on; `status` is what session.prepare() said.
Decision decide_prepared(Framework& framework, FilterSession& session, const Status& status,
                         const CycleOptions& options);

/// What is left once every node has failed: session.failures says of what, in order of arrival.
Decision decide_unfit(Framework& framework, FilterSession& session, const CycleOptions& options);

/// No decision: what session.extenders have to be asked first.
Decision asking_decision(const FilterSession& session);

enum class Refusals { Count, Drop };
/// What session.extenders leave of the nodes, in order; refused ones count as failures of the
/// session, or not. None: they have to be asked first. Error: one of them failed.
Result<std::optional<std::vector<NodeId>>>
pass_extenders(FilterSession& session, std::span<const NodeId> nodes, Refusals refusals);

/// Extenders' scores of two or more nodes. None: they have to be asked first.
std::optional<std::vector<ExtenderTalk::Scores>> ask_for_scores(FilterSession& session,
                                                                std::span<const NodeId> nodes);

/// Assume, Reserve, Permit. On failure everything is taken back.
Decision place_on(Framework& framework, ClusterState& state, const PodPtr& pod,
                  std::span<ActiveRun> runs, const BestNode& choice);

} // namespace berth::sched
