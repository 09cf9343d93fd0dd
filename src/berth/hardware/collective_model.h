// The bandwidth model itself, straight from the device graph; docs/bandwidth.md derives every
// formula and constant. Callers use bandwidth.h, which looks the node part up in the platform's
// table.
#pragma once

#include <cstdint>

#include "berth/hardware/choose.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {

/// All-reduce bus bandwidth among GPUs of one node, MB/s. O(n^3).
std::int64_t model_all_reduce(const Platform& platform, GpuMask gpus);

/// The same for `n` GPUs on one NVSwitch fabric, wherever they sit on it.
std::int64_t switched_all_reduce(const Platform& platform, int n);

/// What the rails of these GPUs carry to other nodes, one direction, MB/s: each GPU uses the
/// compute NICs nearest to it and no others. 0 for a machine without compute NICs.
std::int64_t model_rails(const Platform& platform, GpuMask gpus);

/// How far GPU `gpu` is from its nearest NIC (compute NICs if there are any): the Link as a number,
/// one more if on another socket. 0 without NICs.
int nic_distance(const Platform& platform, int gpu);

} // namespace berth::hardware
