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

/// Assume, Reserve, Permit. On failure everything is taken back.
Decision place_on(Framework& framework, ClusterState& state, const PodPtr& pod,
                  std::span<ActiveRun> runs, NodeId node);

} // namespace berth::sched
