// LoadVariationRiskBalancing (Score): balances the risk that comes of load that is high or varies.
// Source: scheduler-plugins pkg/trimaran/loadvariationriskbalancing (spec 12). Formula:
// variation_score (load_score.h) of each resource, cpu in milli and memory in MiB of what is
// allocatable; the lowest of those that are measured, rounded half away from zero. A node of which
// nothing is measured scores 0. Not normalised. Never rejects. State: the node and its NodeMetrics.
//
// Berth's own arg: resources, of cpu, memory (the default) and nvidia.com/gpu, are those looked at;
// GPUs only for pods that ask for some.
#pragma once

#include <memory>
#include <set>
#include <string>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kLoadVariationRiskBalancing = "LoadVariationRiskBalancing";

struct LoadVariationArgs {
  double safe_variance_margin = 1;
  double safe_variance_sensitivity = 1;
  std::set<std::string, std::less<>> resources = {"cpu", "memory"};
};
/// As KubeSchedulerConfiguration writes LoadVariationRiskBalancingArgs. Errors name the field.
Result<LoadVariationArgs> parse_load_variation_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_load_variation_risk_balancing(LoadVariationArgs args);

} // namespace berth::sched
