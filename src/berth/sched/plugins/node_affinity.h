// NodeAffinity (PreFilter, Filter, Score). Required: args.addedAffinity AND spec.nodeSelector AND
// any of the required terms. Score: sum of the weights of matching preferred terms (the pod's and
// the added ones), scaled by the highest. Source: kube-scheduler plugins/nodeaffinity. State:
// node-static. Events: node added or its labels changed.
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/model/node_affinity.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodeAffinity = "NodeAffinity";
inline constexpr std::string_view kReasonAffinity =
    "node(s) didn't match Pod's node affinity/selector";
inline constexpr std::string_view kReasonEnforced =
    "node(s) didn't match scheduler-enforced node affinity";
inline constexpr std::string_view kReasonConflict = "pod affinity terms conflict";

struct NodeAffinityArgs {
  std::optional<model::NodeAffinity> added_affinity;
};
/// NodeAffinityArgs as KubeSchedulerConfiguration writes it. Errors name the field.
Result<NodeAffinityArgs> parse_node_affinity_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_node_affinity(NodeAffinityArgs args);

} // namespace berth::sched
