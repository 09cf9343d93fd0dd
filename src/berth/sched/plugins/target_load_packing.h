// TargetLoadPacking (Score): packs pods onto nodes up to a target utilisation, then spreads what is
// beyond it. Source: scheduler-plugins pkg/trimaran/targetloadpacking (spec 12). Formula:
// packing_score (load_score.h) of
//   100 * (measured use + the pod + pods not measured yet) / capacity
// A pod is expected to use, by container: its cpu limit; else its request times
// defaultRequestsMultiplier; else defaultRequests; and its overhead. Not measured yet: pods on the
// node that have not started, or started less than a minute before the end of the window of the
// metrics (NodeMetrics.timestamp) or later; without a timestamp all pods on the node.
//
// A node whose load is not known scores 0. Not normalised. Never rejects. State: the node, its
// NodeMetrics, the pods on it.
//
// Berth's own arg: resource: nvidia.com/gpu looks at GPUs instead (metric type GPU), for pods that
// ask for some; they are expected to use all they ask for.
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kTargetLoadPacking = "TargetLoadPacking";

struct TargetLoadPackingArgs {
  enum class Of { Cpu, Gpu };
  Of resource = Of::Cpu;
  std::int64_t target_utilization = 40; ///< percent, 1..99
  std::int64_t default_requests = 1000; ///< milli-cpu
  double default_requests_multiplier = 1.5;
};
/// As KubeSchedulerConfiguration writes TargetLoadPackingArgs. Errors name the field.
Result<TargetLoadPackingArgs> parse_target_load_packing_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_target_load_packing(TargetLoadPackingArgs args);

} // namespace berth::sched
