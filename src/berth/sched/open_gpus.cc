#include "berth/sched/open_gpus.h"

#include <algorithm>
#include <bit>

namespace berth::sched {

namespace {

/// GPUs of the pod whose indices are not known.
std::int64_t unknown_gpus(const NodeGpus& gpus, PodSlot slot, const PlacedPod& placed) {
  std::int64_t known = 0;
  for (hardware::GpuMask rest = placed.gpus & gpus.held; rest != 0; rest &= rest - 1) {
    known += gpus.holder[static_cast<std::size_t>(std::countr_zero(rest))] == slot ? 1 : 0;
  }
  return std::max<std::int64_t>(0, placed.pod->gpus - known);
}

} // namespace

std::int64_t open_gpu_count(const NodeGpus& gpus) {
  return std::max<std::int64_t>(0, std::popcount(gpus.free()) - gpus.unplaced);
}

hardware::GpuMask open_gpus(const ClusterState& state, const NodeInfo& node,
                            std::string_view except_uid) {
  hardware::GpuMask open = node.gpus.free();
  if (node.gpus.unplaced == 0) {
    return open;
  }
  for (const PodSlot slot : node.pods) {
    const auto& placed = state.placed(slot);
    if (placed.pod->uid == except_uid) {
      continue;
    }
    const auto unknown =
        std::min<std::int64_t>(unknown_gpus(node.gpus, slot, placed), std::popcount(open));
    const auto presumed = hardware::choose_gpus(*node.platform, open, static_cast<int>(unknown),
                                                hardware::ChoicePolicy::Topology);
    open &= ~presumed.value_or(0);
  }
  return open;
}

} // namespace berth::sched
