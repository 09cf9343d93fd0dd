#include "berth/sched/plugins/dot_product.h"

#include <algorithm>

#include "berth/sched/plugins/gpu_policy.h"

namespace berth::sched {
namespace {

std::int64_t judge(const GpuWish& wish, const ClusterState&, const IdleView& idle) {
  const double cpu =
      static_cast<double>(idle.cpu) / kScaleCpu * (static_cast<double>(wish.cpu) / kScaleCpu);
  const double gpu = static_cast<double>(idle.room.total_milli()) / kScaleGpu *
                     (static_cast<double>(wish.total_milli()) / kScaleGpu);
  // Nodes greater than the scale could leave the range.
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(100 * (1 - (cpu + gpu) / 2)), 0,
                                  kMaxNodeScore);
}

} // namespace

std::unique_ptr<Plugin> make_dot_product() {
  return make_judging_plugin(kDotProduct, &judge, Stretch::Final);
}

} // namespace berth::sched
