// FGD (Score, Reserve), fragmentation gradient descent: the node, and for a pod that shares one GPU
// the GPU, where the fragmentation of a target workload (fragmentation.h) grows least or falls
// most. Score: the whole part of 100 / (1 + e^-(fall in GPUs)), 50 where nothing changes. Weng et
// al., USENIX ATC'23; spec simulators A.5; FGDScore in Alibaba's files. State: node-dynamic.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sched/fragmentation.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kFgd = "FGD";

/// Args: parse_target_args (target_workload.h).
std::unique_ptr<Plugin> make_fgd(TargetWorkload target);

} // namespace berth::sched
