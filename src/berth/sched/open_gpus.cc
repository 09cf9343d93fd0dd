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

hardware::GpuMask open_gpus(const ClusterState& state, const NodeInfo& node, PodSlot except) {
  hardware::GpuMask open = node.gpus.free();
  std::int64_t missing = node.gpus.unplaced;
  if (missing > 0 && except.valid()) {
    missing -= unknown_gpus(node.gpus, except, state.placed(except));
  }
  for (auto slot = node.pods.begin(); missing > 0 && slot != node.pods.end(); ++slot) {
    const std::int64_t unknown =
        *slot == except ? 0 : unknown_gpus(node.gpus, *slot, state.placed(*slot));
    if (unknown == 0) {
      continue;
    }
    missing -= unknown;
    const auto gpus = static_cast<int>(std::min<std::int64_t>(unknown, std::popcount(open)));
    const auto presumed =
        hardware::choose_gpus(*node.platform, open, gpus, hardware::ChoicePolicy::Topology);
    open &= ~presumed.value_or(0);
  }
  return open;
}

} // namespace berth::sched
