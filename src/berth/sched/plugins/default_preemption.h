// DefaultPreemption (PostFilter): finds the node where evicting lower-priority pods makes room at
// the least cost. Dry run on the state itself under guards; the eviction is a value for the
// scheduler process. Source: kube-scheduler plugins/defaultpreemption and framework/preemption
// (spec 5).
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kDefaultPreemption = "DefaultPreemption";

struct DefaultPreemptionArgs {
  std::int64_t min_candidate_nodes_percentage = 10;
  std::int64_t min_candidate_nodes_absolute = 100;
};
/// As KubeSchedulerConfiguration writes it, with Kubernetes' validation. Errors name the field.
Result<DefaultPreemptionArgs> parse_default_preemption_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_default_preemption(DefaultPreemptionArgs args);

} // namespace berth::sched
