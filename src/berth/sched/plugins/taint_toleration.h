// TaintToleration (Filter, Score): NoSchedule and NoExecute taints must be tolerated; of
// PreferNoSchedule taints, fewer untolerated ones are better (counted against tolerations with
// effect "" or PreferNoSchedule; reversed by the highest). Source: kube-scheduler
// plugins/tainttoleration. State: node-static. Events: node added or its taints changed, the pod's
// tolerations changed.
#pragma once

#include <memory>

#include "berth/sched/framework.h"

namespace berth::sched {

inline constexpr std::string_view kTaintToleration = "TaintToleration";
/// Kubernetes 1.34 and later.
inline constexpr std::string_view kReasonTaints = "node(s) had untolerated taint(s)";
/// Earlier: then " {key: value}".
inline constexpr std::string_view kReasonTaint = "node(s) had untolerated taint";

std::unique_ptr<Plugin> make_taint_toleration(KubernetesVersion version);

} // namespace berth::sched
