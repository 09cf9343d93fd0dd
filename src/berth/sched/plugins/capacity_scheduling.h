// CapacityScheduling (PreFilter, PostFilter, Reserve): ElasticQuotas. A namespace is guaranteed its
// min, may borrow what others leave of theirs, and never holds more than its max. Source:
// scheduler-plugins pkg/capacityscheduling (spec 12; KEP 9).
//
// PreFilter, for pods of namespaces with a quota, with "asked" the pod's request and those of pods
// nominated somewhere (of its own namespace: of equal or higher priority; of others: whose quota is
// within its min):
//   used + asked > max                              -> Unschedulable
//   sum of used + asked > sum of min, over quotas   -> Unschedulable
// PostFilter, whom a pod may evict:
//   no quota in its namespace      lower priority, in namespaces without quota
//   used + asked > its own min     lower priority, in its own namespace
//   else                           anybody of other namespaces as long as these exceed their min
// and afterwards both rules of PreFilter must hold. A node where nobody may go is counted in
// kube-scheduler's words: scheduler-plugins' own name the node and the pod, a reason for each.
// Reserve needs no work of its own: the state counts assumed pods.
//
// State: quotas, and all pods of namespaces that have one. Says the pod's name in its message, so
// it looks beyond the shape. Wakes for deleted or shrunk pods and for changed quotas. Cost:
// O(nominations + resources).
//
// A profile that has DefaultPreemption too asks both; it ignores quotas, so scheduler-plugins'
// manual disables it at postFilter.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kCapacityScheduling = "CapacityScheduling";
inline constexpr std::string_view kReasonMaxExceeded = "global quota max exceeded";
inline constexpr std::string_view kReasonMinExceeded = "global quota min exceeded";

std::unique_ptr<Plugin> make_capacity_scheduling();

} // namespace berth::sched
