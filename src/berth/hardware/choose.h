// Choosing which GPUs of a node a container gets: exact for up to 16 GPUs, and the same answer in
// the scheduler's Reserve, in GetPreferredAllocation and in what-if questions, so that plan and
// node agree without a side channel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/hardware/platform.h"

namespace berth::hardware {

/// A set of a node's GPUs: bit i stands for GPU index i.
using GpuMask = std::uint32_t;

enum class ChoicePolicy {
  Topology, ///< best predicted all-reduce, then least damage to what stays free, then NIC and NUMA
            ///< closeness
  Binpack,  ///< least damage to what stays free first
  Spread,   ///< most distinct NUMA nodes and PCIe switches first
};

/// The best k GPUs of `free` that include `required` (a subset of `free`). nullopt if |free| < k or
/// k < |required| or k < 1. Ties go to the lowest mask, so the answer is a function of its inputs.
/// Exhaustive: C(|free|, k) <= 12870.
std::optional<GpuMask> choose_gpus(const Platform& platform, GpuMask free, int k,
                                   ChoicePolicy policy, GpuMask required = 0);

/// "0,1,4" <-> mask; nullopt on anything else or an index above 31.
std::optional<GpuMask> parse_gpu_indices(std::string_view text);
std::string format_gpu_indices(GpuMask mask);

} // namespace berth::hardware
