// Which GPUs of a node a pod may get by index, when some pods hold GPUs nobody knows the indices of
// (pods bound by another scheduler, without annotation berth.dev/gpu-indices).
#pragma once

#include <cstdint>

#include "berth/sched/cluster_state.h"

namespace berth::sched {

/// How many GPUs are neither held, unhealthy nor taken by a pod of unknown indices. Never negative;
/// 0 where indices are unknown. O(1).
std::int64_t open_gpu_count(const NodeGpus& gpus);

/// The open GPUs themselves. A pod of unknown indices is presumed to hold what the device plugin
/// would have preferred for it: choose_gpus by topology among the healthy free ones, one pod after
/// the other in order of arrival. So the answer is a function of the state, and a pod seen later
/// only adds to it. `except` is presumed to hold nothing. O(pods on the node) choices, only if
/// there are other such pods. Precondition: the node's platform is known.
hardware::GpuMask open_gpus(const ClusterState& state, const NodeInfo& node, PodSlot except = {});

} // namespace berth::sched
