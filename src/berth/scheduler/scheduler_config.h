// A KubeSchedulerConfiguration file for Berth's scheduler: every profile starts from the default
// plugins of its Kubernetes version, with Gang (which files may call Coscheduling), GpuTopology and
// GpuShare.
#pragma once

#include <string_view>

#include "berth/sched/config.h"
#include "berth/scheduler/scheduler.h"

namespace berth::scheduler {

/// Errors have file, line, column and field path (sched/config.h).
Result<sched::SchedulerConfig> read_config(std::string_view text, std::string_view file,
                                           std::string_view gpu_policy = "topology");

/// The same for a scheduler process of its own, which has an API to connect to and a lead to stand
/// for.
Result<sched::SchedulerConfig> read_process_config(std::string_view text, std::string_view file,
                                                   std::string_view gpu_policy = "topology");

/// Options that start. With extenders `poster` is still to be set.
SchedulerOptions options_of(const sched::SchedulerConfig& config);

} // namespace berth::scheduler
