// What is left of each GPU of a node for pods that take parts of GPUs.
#pragma once

#include <array>
#include <cstdint>

#include "berth/model/gpu_units.h"
#include "berth/sched/cluster_state.h"

namespace berth::sched {

using model::kWholeGpuMilli;

/// By GPU index, of the first `count` GPUs; what is behind them is not set, since this is made for
/// every node that is looked at.
struct GpuRoom {
  std::size_t count = 0;
  bool has_memory = false;                   ///< else the memory of the GPUs is unknown
  std::array<std::int32_t, kMaxGpus> milli;  ///< 0..1000; 0 where held whole or unhealthy
  std::array<std::int64_t, kMaxGpus> memory; ///< bytes; 0 there too. Set if has_memory

  GpuRoom() {} // NOLINT(modernize-use-equals-default): the arrays stay unset
  std::int64_t memory_of(std::size_t gpu) const { return has_memory ? memory[gpu] : 0; }

  std::int64_t total_milli() const;
};

/// Pods of unknown GPUs are presumed to hold the fullest that had room when they came (whole ones:
/// see open_gpus.h; without indices, the highest), one after the other in order of arrival. So the
/// answer is a function of the state. `except` is presumed to hold nothing. O(GPUs), and O(pods
/// on the node) if there are such pods.
GpuRoom gpu_room(const ClusterState& state, const NodeInfo& node, PodSlot except = {});

/// What a share asks of one GPU, in bytes of the node's unit.
std::int64_t memory_wanted(const model::GpuShare& share, const GpuParts& parts);
/// GPUs that each have room for the share. Memory counts only if asked for.
hardware::GpuMask gpus_with_room(const GpuRoom& room, const GpuParts& parts,
                                 const model::GpuShare& share);
/// `room` without the share on each of `gpus`. Precondition: they have room.
void take(GpuRoom& room, const GpuParts& parts, const model::GpuShare& share,
          hardware::GpuMask gpus);

enum class PartChoice { Fullest, Emptiest };
/// `share.gpus` of the GPUs in `open`: those with the least (most) milli left, then memory left,
/// then the lowest index. Precondition: as many are open.
hardware::GpuMask choose_parts(const GpuRoom& room, const model::GpuShare& share,
                               hardware::GpuMask open, PartChoice choice = PartChoice::Fullest);

} // namespace berth::sched
