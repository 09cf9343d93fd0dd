#include "berth/sched/plugins/best_fit.h"

#include "berth/sched/plugins/gpu_policy.h"

namespace berth::sched {
namespace {

std::int64_t judge(const GpuWish& wish, const ClusterState&, const IdleView& idle) {
  const auto cpu = static_cast<double>(idle.cpu - wish.cpu);
  const auto gpu = static_cast<double>(idle.room.total_milli() - wish.total_milli());
  // Added up first: the whole part can depend on how it is rounded.
  return static_cast<std::int64_t>(100 * (1 - (0.5 * cpu / kScaleCpu + 0.5 * gpu / kScaleGpu)));
}

} // namespace

std::unique_ptr<Plugin> make_best_fit() {
  return make_judging_plugin(kBestFit, &judge, Stretch::Stretched);
}

} // namespace berth::sched
