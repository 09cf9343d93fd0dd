// PodTopologySpread (PreFilter, Filter, PreScore, Score): keeps the pods a selector matches evenly
// spread over the values of a node label (KEP-895). Filter, constraints DoNotSchedule: pods in the
// node's domain + 1 if the pod matches itself - the emptiest domain <= maxSkew. Score, constraints
// ScheduleAnyway: sum of count x ln(domains + 2) + maxSkew - 1, turned round. Source:
// kube-scheduler plugins/podtopologyspread. State: cross-node. Events: assigned pod added, deleted,
// relabelled; node added, deleted, relabelled, retainted; the pod relabelled.
#pragma once

#include <cstddef>
#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kPodTopologySpread = "PodTopologySpread";
inline constexpr std::string_view kReasonSpread =
    "node(s) didn't match pod topology spread constraints";
inline constexpr std::string_view kReasonSpreadLabel =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// Default constraints are for pods that a Service or another owner with a selector covers. They
/// are checked as kube-scheduler does, and not applied: services are not watched.
struct PodTopologySpreadArgs {
  std::size_t default_constraints = 0; ///< how many there are
};
/// As KubeSchedulerConfiguration writes it. Errors name the field.
Result<PodTopologySpreadArgs> parse_pod_topology_spread_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_pod_topology_spread();

} // namespace berth::sched
