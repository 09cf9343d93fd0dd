// PodTopologySpread (PreFilter, Filter, PreScore, Score): keeps the pods a selector matches evenly
// spread over the values of a node label (KEP-895). Filter, constraints DoNotSchedule: pods in the
// node's domain + 1 if the pod matches itself - the emptiest domain <= maxSkew. Score, constraints
// ScheduleAnyway: sum of count x ln(domains + 2) + maxSkew - 1, turned round. Source:
// kube-scheduler plugins/podtopologyspread. State: cross-node. Events: assigned pod added, deleted,
// relabelled; node added, deleted, relabelled, retainted; the pod relabelled.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kPodTopologySpread = "PodTopologySpread";
inline constexpr std::string_view kReasonSpread =
    "node(s) didn't match pod topology spread constraints";
inline constexpr std::string_view kReasonSpreadLabel =
    "node(s) didn't match pod topology spread constraints (missing required label)";

std::unique_ptr<Plugin> make_pod_topology_spread();

} // namespace berth::sched
