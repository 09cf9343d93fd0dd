#include "berth/sched/plugins/gpu_clustering.h"

#include <algorithm>

#include "berth/sched/plugins/gpu_policy.h"

namespace berth::sched {
namespace {

constexpr std::int64_t kGreatestNode = 8000; // milli of GPUs
constexpr std::int64_t kFullness = 25;
constexpr std::int64_t kEmpty = 25;
constexpr std::int64_t kAmongOthers = 50;
constexpr std::int64_t kAlone = 75;

/// Bit 0: a part of a GPU; bit k: k GPUs. 0: no GPU.
std::uint64_t kind_of(const GpuWish& wish) {
  return wish.gpus == 0 ? 0 : std::uint64_t{1} << (wish.shares_one() ? 0 : wish.gpus);
}

std::int64_t judge(const GpuWish& wish, const ClusterState& state, const IdleView& idle) {
  const std::uint64_t kind = kind_of(wish);
  if (kind == 0) {
    return 0;
  }
  std::uint64_t kinds = 0;
  for (const PodSlot slot : idle.node->pods) {
    kinds |= kind_of(gpu_wish(*state.placed(slot).pod));
  }
  const std::int64_t left = std::min(idle.room.total_milli(), kGreatestNode);
  const std::int64_t base = kFullness * (kGreatestNode - left) / kGreatestNode;
  return base + (kinds == kind         ? kAlone
                 : (kinds & kind) != 0 ? kAmongOthers
                 : kinds == 0          ? kEmpty
                                       : 0);
}

} // namespace

std::unique_ptr<Plugin> make_gpu_clustering() {
  return make_judging_plugin(kGpuClustering, &judge, Stretch::Final);
}

} // namespace berth::sched
