// GpuSlices (Reserve): from which GPUs of the node a pod gets its replicas (time slicing, MPS) and
// MIG devices. NodeResourcesFit has counted them; this chooses (slice_choice.h): replicas are
// spread over the least used GPUs, MIG devices packed. The choice is handed to the state and, as
// annotation berth.dev/gpu-slices, to the binding. On a node whose agent says nothing of its
// devices (berth.dev/gpu-devices), and where fewer are in good health than the pod needs, nothing
// is chosen and the node decides. State: node-dynamic.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kGpuSlices = "GpuSlices";

std::unique_ptr<Plugin> make_gpu_slices();

} // namespace berth::sched
