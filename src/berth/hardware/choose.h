// Choosing which GPUs of a node a container gets: exact for up to 16 GPUs, and the same answer in
// the scheduler's Reserve, in GetPreferredAllocation and in what-if questions, so that plan and
// node agree without a side channel.
#pragma once

#include <optional>
#include <string_view>

#include "berth/hardware/gpu_mask.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {

enum class ChoicePolicy {
  Topology, ///< best predicted all-reduce, then least damage to what stays free, then NIC and NUMA
            ///< closeness
  Binpack,  ///< least damage to what stays free first
  Spread,   ///< most distinct NUMA nodes and PCIe switches first
};

/// "topology", "binpack" or "spread".
std::string_view to_string(ChoicePolicy policy);

/// The best k GPUs of `free` that include `required` (a subset of `free`). nullopt if |free| < k or
/// k < |required| or k < 1. Ties go to the lowest mask, so the answer is a function of its inputs.
/// Exhaustive: C(|free|, k) <= 12870.
std::optional<GpuMask> choose_gpus(const Platform& platform, GpuMask free, int k,
                                   ChoicePolicy policy, GpuMask required = 0);

} // namespace berth::hardware
