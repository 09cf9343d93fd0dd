// PodTopologySpread (PreFilter, Filter, PreScore, Score): keeps the pods a selector matches evenly
// spread over the values of a node label (KEP-895). Filter, constraints DoNotSchedule: pods in the
// node's domain + 1 if the pod matches itself - the emptiest domain <= maxSkew. Score, constraints
// ScheduleAnyway: sum of count x ln(domains + 2) + maxSkew - 1, turned round. Source:
// kube-scheduler plugins/podtopologyspread. State: cross-node. Events: assigned pod added, deleted,
// relabelled; node added, deleted, relabelled, retainted; the pod relabelled. Services and
// controllers that come or go wake nobody, as in kube-scheduler.
#pragma once

#include <memory>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kPodTopologySpread = "PodTopologySpread";
inline constexpr std::string_view kReasonSpread =
    "node(s) didn't match pod topology spread constraints";
inline constexpr std::string_view kReasonSpreadLabel =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// What holds for pods without constraints of their own (spec 2.4). Counted are the pods that the
/// Services and the controller of such a pod select (WorkloadSelectors); a pod that none selects
/// has no constraint. With System, nodes that lack a label still count: as a domain of their own.
struct PodTopologySpreadArgs {
  enum class Defaulting { System, List };
  Defaulting defaulting = Defaulting::System;
  /// Without selectors. System: hostname with maxSkew 3, zone with 5, both ScheduleAnyway.
  std::vector<model::TopologySpreadConstraint> default_constraints = system_default_constraints();

  static std::vector<model::TopologySpreadConstraint> system_default_constraints();
};
/// As KubeSchedulerConfiguration writes it. Errors name the field.
Result<PodTopologySpreadArgs> parse_pod_topology_spread_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_pod_topology_spread(PodTopologySpreadArgs args);

} // namespace berth::sched
