// GpuClustering (Score): pods of one kind together, kinds being shares of a GPU and each number of
// whole GPUs; then the fuller node. After Gandiva; spec simulators A.5; GpuClusteringScore in
// Alibaba's files. A node's kinds are those of the pods on it.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kGpuClustering = "GpuClustering";

std::unique_ptr<Plugin> make_gpu_clustering();

} // namespace berth::sched
