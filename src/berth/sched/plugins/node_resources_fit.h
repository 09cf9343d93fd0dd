// NodeResourcesFit (Filter, Score): every request must fit into allocatable minus requested, and
// one more pod into the pod limit; the score prefers empty (LeastAllocated), full (MostAllocated)
// or a given shape of utilisation (RequestedToCapacityRatio). Source: kube-scheduler
// plugins/noderesources. State: node-dynamic. Events: assigned pod deleted or scaled down, node
// added or its allocatable changed.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodeResourcesFit = "NodeResourcesFit";
inline constexpr std::string_view kReasonTooManyPods = "Too many pods";
inline constexpr std::string_view kReasonInsufficient =
    "Insufficient "; ///< then the resource's name

enum class ScoringStrategy { LeastAllocated, MostAllocated, RequestedToCapacityRatio };

struct ResourceWeight {
  std::string name;
  std::int64_t weight = 1;
};

/// A point of the shape: utilisation in percent, score 0 to 10.
struct UtilizationPoint {
  std::int64_t utilization = 0;
  std::int64_t score = 0;
};

/// NodeResourcesFitArgs.
struct FitArgs {
  ScoringStrategy strategy = ScoringStrategy::LeastAllocated;
  std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  std::vector<UtilizationPoint> shape; ///< for RequestedToCapacityRatio, by rising utilisation
  std::set<std::string, std::less<>> ignored_resources;
  std::set<std::string, std::less<>> ignored_resource_groups; ///< prefixes before "/"
};
/// As KubeSchedulerConfiguration writes it, with Kubernetes' validation. Errors name the field.
Result<FitArgs> parse_fit_args(const boost::json::value& args);

/// Requested of one resource on the node with the pod on it, as scoring counts it (cpu and memory
/// with defaults), against what the node has.
struct Utilization {
  std::int64_t requested = 0;
  std::int64_t capacity = 0;
};
Utilization scored_utilization(const NodeInfo& node, const PodInfo& pod, ResourceId resource);

/// Score of one resource under a strategy, 0 to 100. `shape` only for RequestedToCapacityRatio.
std::int64_t allocation_score(ScoringStrategy strategy, const Utilization& use,
                              const std::vector<UtilizationPoint>& shape);

std::unique_ptr<Plugin> make_node_resources_fit(FitArgs args);

} // namespace berth::sched
