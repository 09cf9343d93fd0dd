// LowRiskOverCommitment (Score): prefers nodes where pods are unlikely to want more than the node
// has, though their limits may add up to more. Source: scheduler-plugins
// pkg/trimaran/lowriskovercommitment (spec 12). Score: 100 * (1 - the higher of the risks of cpu
// and memory), rounded half away from zero; each is over_commitment_risk (load_score.h) of what is
// allocatable. A node without metrics scores 0. Not normalised. Never rejects. State: the node, its
// NodeMetrics, the pods on it.
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/load_score.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kLowRiskOverCommitment = "LowRiskOverCommitment";

struct LowRiskArgs {
  std::int64_t smoothing_window_size = 5; ///< 1 and more
  double cpu_limit_weight = 0.5;          ///< 0..1
  double memory_limit_weight = 0.5;       ///< 0..1
};
/// As KubeSchedulerConfiguration writes LowRiskOverCommitmentArgs. Errors name the field.
Result<LowRiskArgs> parse_low_risk_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_low_risk_over_commitment(LowRiskArgs args);

} // namespace berth::sched
