// What a container's requests and limits are to the kernel: cpu shares, quota in periods of 100 ms,
// the memory limit, the score by which it is killed when memory runs out. Pure. Rules: kubelet
// pkg/kubelet/cm (MilliCPUToShares, MilliCPUToQuota) and pkg/kubelet/qos.
#pragma once

#include <cstdint>

#include "berth/model/pod.h"
#include "berth/node/device_request.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// `memory_capacity` is the node's, in bytes; 0: not known, then Burstable containers count as if
/// they had asked for nothing.
runtime::Resources cgroup_numbers(const model::Pod& pod, const model::Container& container,
                                  Role role, std::int64_t memory_capacity);

} // namespace berth::node
