// GpuSlices (Filter, Score, Reserve): from which GPUs of which node a pod gets its replicas (time
// slicing, MPS) and MIG devices. NodeResourcesFit has counted them; this chooses (slice_choice.h):
// replicas are spread over the least used GPUs of a node, MIG devices packed. The choice is handed
// to the state and, as annotation berth.dev/gpu-slices, to the binding. On a node whose agent says
// nothing of its devices (berth.dev/gpu-devices), and where fewer are in good health than the pod
// needs, nothing is chosen and the node decides.
//
// Filter: a node whose device plugin gives a container one replica at most
// (model::one_replica_resources) will not do for a pod with a container, an init container or a
// sidecar that asks for more of them: Allocate would refuse it, and the pod would be Failed.
// Several containers may have one each. Unresolvable. Events: node added, its labels or annotations
// changed.
//
// Score, 0 to 100: the mean over the pod's devices, each by the GPU that it would come from:
//   in use                    50 + what is taken of the GPU, in halves of a percent
//   free, of a node in use    25
//   free, of a free node       0; also where nothing is chosen
// so that GPUs, and nodes, stay free to be cut otherwise or emptied. "LeastAllocated" turns it
// round, but for nodes where nothing is chosen. Pods that ask for nothing that any node gives in
// slices are not scored. State: node-dynamic; the filter's is node-static.
#pragma once

#include <memory>
#include <string_view>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kGpuSlices = "GpuSlices";
/// Followed by the resource's name and kReasonToAContainer.
inline constexpr std::string_view kReasonOneReplica = "node(s) gave at most one replica of ";
inline constexpr std::string_view kReasonToAContainer = " to a container";

enum class SliceScoring { MostAllocated, LeastAllocated };

struct GpuSlicesArgs {
  SliceScoring scoring = SliceScoring::MostAllocated;
};
/// {"scoringStrategy": {"type": "MostAllocated" | "LeastAllocated"}}; null or {}: MostAllocated.
/// Errors name the field.
Result<GpuSlicesArgs> parse_gpu_slices_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_gpu_slices(GpuSlicesArgs args);

} // namespace berth::sched
