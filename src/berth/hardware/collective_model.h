// The bandwidth model itself, straight from the device graph; docs/bandwidth.md derives every
// formula and constant. Callers use bandwidth.h, which looks the node part up in the platform's
// table.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/hardware/choose.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {

/// All-reduce bus bandwidth among GPUs of one node, MB/s. O(n^3).
std::int64_t model_all_reduce(const Platform& platform, GpuMask gpus);

/// The same for `n` GPUs on one NVSwitch fabric, wherever they sit on it.
std::int64_t switched_all_reduce(const Platform& platform, int n);

/// GPUs that share their nearest compute NICs, and what those NICs carry, one direction.
struct RailGroup {
  GpuMask gpus = 0;
  std::int64_t wire_mbps = 0;
};

/// Every GPU is in exactly one group; none for a machine without compute NICs.
std::vector<RailGroup> rail_groups(const Platform& platform);

/// What the rails of these GPUs carry to other nodes, MB/s: each group gives what its NICs carry,
/// but no more than the lanes of its GPUs. `pcie_mbps` is a GPU's.
std::int64_t rails_mbps(const std::vector<RailGroup>& groups, std::int64_t pcie_mbps, GpuMask gpus);

/// How far GPU `gpu` is from its nearest NIC (compute NICs if there are any): the Link as a number,
/// one more if on another socket. 0 without NICs.
int nic_distance(const Platform& platform, int gpu);

} // namespace berth::hardware
