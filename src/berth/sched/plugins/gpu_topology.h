// GpuTopology (Filter, Score, Reserve): which GPUs of which node. Berth's own; the choice itself is
// hardware::choose_gpus. A pod's GPUs are chosen together, over all its containers.
//
// Filter: a node whose platform is known needs as many open GPUs (open_gpus.h) as the pod asks for.
// Other nodes are left to NodeResourcesFit, which counts, but those whose GPUs are HAMi's vGPUs:
// they refuse pods that plugin Hami did not place. Score, 0 to 100, over the feasible nodes:
//   thrift   = 4/5 (1 - damage / greatest damage) + 1/5 (1 - GPUs left / most GPUs left), where
//   damage is the room
//              (PlacementTable::room) the node loses by the choice
//   topology = 3/4 all-reduce of the choice / best one + 1/4 thrift; thrift alone where no node has
//   an all-reduce binpack  = thrift spread   = GPUs left / GPUs of the node
// A node of unknown platform scores as one whose GPUs are all alike, without all-reduce.
// Reserve: the set, handed to the state and, as annotation berth.dev/gpu-indices, to the binding.
// Released with the pod by the state; the plugin itself remembers nothing. State: node-dynamic.
// Events: assigned pod deleted or scaled down, node added or its allocatable, labels or annotations
// changed, the pod itself scaled down.
#pragma once

#include <memory>
#include <string_view>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/hardware/choose.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kGpuTopology = "GpuTopology";
inline constexpr std::string_view kReasonGpusTaken = "node(s) didn't have enough free healthy GPUs";
inline constexpr std::string_view kReasonVgpus =
    "node(s) gave their GPUs as HAMi's vGPUs, to pods of its scheduler alone";
/// More than the node has in good health: nobody's leaving can help.
inline constexpr std::string_view kReasonGpusMissing =
    "node(s) had fewer healthy GPUs than requested";

struct GpuTopologyArgs {
  hardware::ChoicePolicy policy = hardware::ChoicePolicy::Topology;
};
/// {"policy": "topology" | "binpack" | "spread"}; null or {}: topology. Errors name the field.
Result<GpuTopologyArgs> parse_gpu_topology_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_gpu_topology(GpuTopologyArgs args);

} // namespace berth::sched
