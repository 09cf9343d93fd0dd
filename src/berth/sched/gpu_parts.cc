#include "berth/sched/gpu_parts.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "berth/sched/open_gpus.h"

namespace berth::sched {
namespace {

hardware::GpuMask bit(std::size_t index) {
  return hardware::GpuMask{1} << index;
}

void clear(GpuRoom& room, hardware::GpuMask gpus) {
  for (std::size_t i = 0; i < room.count; ++i) {
    if ((gpus & bit(i)) != 0) {
      room.milli[i] = 0;
      if (room.has_memory) {
        room.memory[i] = 0;
      }
    }
  }
}

/// Whole GPUs that pods hold, by index or presumed.
hardware::GpuMask gone_whole(const ClusterState& state, const NodeInfo& node, PodSlot except) {
  if (node.gpus.unplaced == 0) {
    return node.gpus.held;
  }
  if (node.platform != nullptr) {
    return node.gpus.all & ~node.gpus.shared & ~open_gpus(state, node, except);
  }
  hardware::GpuMask gone = 0;
  std::int64_t missing = node.gpus.unplaced;
  for (std::size_t i = kMaxGpus; i-- > 0 && missing > 0;) {
    if ((node.parts.all & ~node.gpus.shared & bit(i)) != 0) {
      gone |= bit(i);
      --missing;
    }
  }
  return gone;
}

void presume(GpuRoom& room, const ClusterState& state, const NodeInfo& node, PodSlot except) {
  for (const PodSlot slot : node.pods) {
    const PlacedPod& placed = state.placed(slot);
    if (placed.pod->share == nullptr || placed.parts_known || slot == except) {
      continue;
    }
    const model::GpuShare& wish = *placed.pod->share;
    const hardware::GpuMask open = gpus_with_room(room, node.parts, wish);
    if (std::popcount(open) >= wish.gpus) {
      take(room, node.parts, wish, choose_parts(room, wish, open));
    }
  }
}

} // namespace

std::int64_t GpuRoom::total_milli() const {
  return std::accumulate(milli.begin(), milli.begin() + static_cast<std::ptrdiff_t>(count),
                         std::int64_t{0});
}

GpuRoom gpu_room(const ClusterState& state, const NodeInfo& node, PodSlot except) {
  GpuRoom room;
  room.count = static_cast<std::size_t>(std::bit_width(node.parts.all));
  room.has_memory = node.parts.memory > 0;
  for (std::size_t i = 0; i < room.count; ++i) {
    room.milli[i] = static_cast<std::int32_t>(kWholeGpuMilli) - node.parts.milli[i];
    if (room.has_memory) {
      room.memory[i] = std::max<std::int64_t>(0, node.parts.memory - node.parts.memory_taken[i]);
    }
  }
  if (const auto gone = node.gpus.unhealthy | gone_whole(state, node, except) | ~node.parts.all;
      gone != 0) {
    clear(room, gone);
  }
  if (node.parts.unplaced > 0) {
    presume(room, state, node, except);
  }
  return room;
}

std::int64_t memory_wanted(const model::GpuShare& share, const GpuParts& parts) {
  return share.memory + share.memory_units * parts.memory_unit;
}

hardware::GpuMask gpus_with_room(const GpuRoom& room, const GpuParts& parts,
                                 const model::GpuShare& share) {
  const std::int64_t memory = memory_wanted(share, parts);
  if (share.memory_units > 0 && parts.memory_unit == 0) {
    return 0;
  }
  hardware::GpuMask open = 0;
  for (std::size_t i = 0; i < room.count; ++i) {
    // A share of memory alone still needs a GPU that is there.
    const bool there = room.milli[i] > 0 || (share.milli == 0 && room.memory_of(i) > 0);
    if (there && room.milli[i] >= share.milli && (memory == 0 || room.memory_of(i) >= memory)) {
      open |= bit(i);
    }
  }
  return open;
}

void take(GpuRoom& room, const GpuParts& parts, const model::GpuShare& share,
          hardware::GpuMask gpus) {
  const std::int64_t memory = memory_wanted(share, parts);
  for (std::size_t i = 0; i < room.count; ++i) {
    if ((gpus & bit(i)) != 0) {
      room.milli[i] -= share.milli;
      if (room.has_memory) {
        room.memory[i] -= memory;
      }
    }
  }
}

hardware::GpuMask choose_parts(const GpuRoom& room, const model::GpuShare& share,
                               hardware::GpuMask open, PartChoice choice) {
  const std::int64_t sign = choice == PartChoice::Fullest ? 1 : -1;
  hardware::GpuMask chosen = 0;
  for (int n = 0; n < share.gpus; ++n) {
    std::size_t best = kMaxGpus;
    const auto left = [&](std::size_t i) {
      return std::tuple(sign * room.milli[i], sign * room.memory_of(i));
    };
    for (std::size_t i = 0; i < room.count; ++i) {
      if ((open & ~chosen & bit(i)) != 0 && (best == kMaxGpus || left(i) < left(best))) {
        best = i;
      }
    }
    chosen |= bit(best);
  }
  return chosen;
}

} // namespace berth::sched
