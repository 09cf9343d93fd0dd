// NodeResourcesBalancedAllocation (Score): prefers nodes whose resources would be used in equal
// shares. The share of each resource is min(1, requested / allocatable) without scoring defaults;
// the score falls with their standard deviation. Kubernetes 1.36 scores the change the pod makes:
// 50 + (50 + with - without) / 2. Earlier: `with` alone. Source: kube-scheduler
// plugins/noderesources/balanced_allocation. State: node-dynamic.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/sched/framework.h"

namespace berth::sched {

inline constexpr std::string_view kBalancedAllocation = "NodeResourcesBalancedAllocation";

struct BalancedAllocationArgs {
  std::vector<std::string> resources = {"cpu", "memory"};
};
/// As KubeSchedulerConfiguration writes it; weights must be 1. Errors name the field.
Result<BalancedAllocationArgs> parse_balanced_allocation_args(const boost::json::value& args);

/// (1 - standard deviation) * 100, truncated; float64 as in kube-scheduler.
std::int64_t balance(std::span<const double> shares);

std::unique_ptr<Plugin> make_balanced_allocation(BalancedAllocationArgs args,
                                                 KubernetesVersion version);

} // namespace berth::sched
