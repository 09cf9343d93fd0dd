#include "berth/sched/plugins/gpu_packing.h"

#include <algorithm>
#include <vector>

#include "berth/sched/plugins/gpu_policy.h"

namespace berth::sched {
namespace {

/// Floors and ceilings of the three tiers.
constexpr std::int64_t kNewNode = 33;
constexpr std::int64_t kNewGpu = 50;

std::int64_t judge(const GpuWish& wish, const ClusterState&, const IdleView& idle) {
  if (wish.gpus == 0) {
    return 0;
  }
  const auto count = static_cast<std::int64_t>(idle.room.count);
  if (idle.room.total_milli() == count * kWholeGpuMilli) {
    return std::max(kNewNode - count, count);
  }
  std::vector<std::int32_t> fitting;
  for (std::size_t i = 0; i < idle.room.count; ++i) {
    if (idle.room.milli[i] >= wish.milli) {
      fitting.push_back(idle.room.milli[i]);
    }
  }
  std::ranges::sort(fitting);
  std::int64_t free = 0;
  std::int64_t percent_left = 0;
  for (std::size_t i = 0; i < fitting.size() && i < static_cast<std::size_t>(wish.gpus); ++i) {
    free += fitting[i] == kWholeGpuMilli ? 1 : 0;
    percent_left += fitting[i] * std::int64_t{100} / kWholeGpuMilli;
  }
  return free > 0 ? std::max(kNewGpu - free, kNewNode) : std::max(100 - percent_left / 10, kNewGpu);
}

} // namespace

std::unique_ptr<Plugin> make_gpu_packing() {
  return make_judging_plugin(kGpuPacking, &judge, Stretch::Final);
}

} // namespace berth::sched
