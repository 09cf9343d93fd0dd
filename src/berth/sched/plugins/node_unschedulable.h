// NodeUnschedulable (Filter): a cordoned node takes only pods that tolerate the taint
// node.kubernetes.io/unschedulable:NoSchedule. Source: kube-scheduler plugins/nodeunschedulable.
// State: node-static. Events: node added or its taints (cordon) changed, the pod's tolerations
// changed.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodeUnschedulable = "NodeUnschedulable";
inline constexpr std::string_view kReasonUnschedulable = "node(s) were unschedulable";

std::unique_ptr<Plugin> make_node_unschedulable();

} // namespace berth::sched
