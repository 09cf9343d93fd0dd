// What the score plugins of GPU packing research share: the pod's demand, what is idle on a node,
// and a plugin made of one function of the two. Those policies and their arithmetic: spec
// simulators A.5.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "berth/sched/gpu_parts.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

/// What a pod asks for: parts of GPUs, or whole ones (nvidia.com/gpu), or none.
struct GpuWish {
  std::int64_t cpu = 0; ///< milli
  std::int32_t milli = 0;
  int gpus = 0;

  std::int64_t total_milli() const { return std::int64_t{milli} * gpus; }
  bool shares_one() const { return gpus == 1 && milli < kWholeGpuMilli; }
};
GpuWish gpu_wish(const PodInfo& pod);

/// What a node has left.
struct IdleView {
  const NodeInfo* node = nullptr;
  std::int64_t cpu = 0; ///< milli
  GpuRoom room;
};
IdleView idle_view(const ClusterState& state, NodeId node);

/// The greatest node of the published experiments, by which demands and idle amounts are scaled.
inline constexpr double kScaleCpu = 128000;
inline constexpr double kScaleGpu = 8000;

/// Raw score of a node that the pod fits.
using NodeJudge = std::int64_t (*)(const GpuWish&, const ClusterState&, const IdleView&);
/// Final: scores are in [0, 100]. Stretched: the least and the greatest of the feasible nodes
/// become 0 and 100, others in proportion.
enum class Stretch { Final, Stretched };

/// A plugin (Score) that is the function. State: node-dynamic.
std::unique_ptr<Plugin> make_judging_plugin(std::string_view name, NodeJudge judge,
                                            Stretch stretch);

} // namespace berth::sched
