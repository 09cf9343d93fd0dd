// SchedulingGates (PreEnqueue): a pod with spec.schedulingGates does not enter the active queue
// (KEP-3521). Events: the pod's own gates removed.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kSchedulingGates = "SchedulingGates";
inline constexpr std::string_view kReasonGated = "waiting for scheduling gates:"; ///< then "[a b]"

std::unique_ptr<Plugin> make_scheduling_gates();

} // namespace berth::sched
