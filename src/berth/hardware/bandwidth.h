// Predicted NCCL bandwidth of a placement. Model and constants: docs/bandwidth.md; published
// figures it is checked against: specs of NVIDIA systems and nccl-tests reports. Integer MB/s so
// that decisions do not depend on floats.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/hardware/choose.h"

namespace berth::hardware {

/// Large-message peer-to-peer bandwidth between two GPUs, one direction, MB/s.
std::int64_t pair_mbps(const Platform& platform, int a, int b);

/// Large-message all-reduce bus bandwidth (nccl-tests' busbw) among a node's GPUs, MB/s. 0 for
/// fewer than two.
std::int64_t all_reduce_mbps(const Platform& platform, GpuMask gpus);

/// One node's part in a group.
struct NodePart {
  const Platform* platform = nullptr;
  GpuMask gpus = 0;
  std::string_view nvlink_domain; ///< "" unless the node belongs to a multi-node NVLink domain
                                  ///< (nvidia.com/gpu.clique)
};

/// The same for a group over several nodes: limited by the slowest node's local rails, or by NVLink
/// if all parts share one NVLink domain. 0 for fewer than two GPUs in all.
std::int64_t group_all_reduce_mbps(std::span<const NodePart> parts);

} // namespace berth::hardware
