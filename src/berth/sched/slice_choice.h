// From which GPUs of a node a pod gets its replicas and MIG devices (model/gpu_slices.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/model/gpu_slices.h"
#include "berth/sched/ids.h"
#include "berth/sched/node_info.h"

namespace berth::sched {

struct SliceChoice {
  model::CountByGpu by_gpu;
  // How the chosen GPUs were before, one entry a device: MIG devices of any resource, or replicas.
  std::int64_t in_use = 0;  ///< of GPUs that somebody had some of
  std::int64_t fill = 0;    ///< sum, in percent of what is there
  bool node_in_use = false; ///< some GPU of the node was
};

/// `count` devices of the resource, by GPU; nullopt if there are not as many left. Replicas come
/// from the GPU with the fewest taken, then the one that this pod has the fewest of (as NVIDIA's
/// device plugin distributes); MIG devices from the GPU with the most MIG devices of any resource
/// taken, then the one with the fewest of this resource left. Then from the lowest index. Devices
/// of pods of which no choice is known are presumed to be where this rule puts them before. `own`
/// are devices that the pod counts as one of those (it is on the node already).
/// O((count + unplaced) x GPUs).
std::optional<SliceChoice> choose_slices(const NodeInfo& node, const ResourceSlices& slices,
                                         std::int64_t count, std::int64_t own = 0);

} // namespace berth::sched
