// GpuPacking (Score): GPUs in use before free GPUs of nodes in use before nodes without GPU pods.
// Spec simulators A.5; GpuPackingScore in Alibaba's files.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kGpuPacking = "GpuPacking";

std::unique_ptr<Plugin> make_gpu_packing();

} // namespace berth::sched
