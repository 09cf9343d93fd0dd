// NodeResourcesAllocatable (Score): prefers small nodes (mode Least, the default) or large ones
// (Most), by what they offer as a whole, whatever is in use. Raw score: the mean of the node's
// allocatable amounts (cpu in milli, others in whole units) weighted by resource, negative for
// Least; then the range that occurs is stretched over 0..100, and nodes that are all alike get 0.
// Source: scheduler-plugins pkg/noderesources (spec 12). State: node-static. Never rejects.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodeResourcesAllocatable = "NodeResourcesAllocatable";

struct AllocatableArgs {
  struct Weight {
    std::string resource;
    std::int64_t weight = 1; ///< 1 and more
  };
  enum class Mode { Least, Most };
  Mode mode = Mode::Least;
  std::vector<Weight> resources = {{"cpu", std::int64_t{1} << 20}, {"memory", 1}};
};
/// As KubeSchedulerConfiguration writes NodeResourcesAllocatableArgs. Errors name the field.
Result<AllocatableArgs> parse_allocatable_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_node_resources_allocatable(AllocatableArgs args);

} // namespace berth::sched
