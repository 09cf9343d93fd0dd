// DynamicResources (PostFilter), as far as pods without resource claims meet it: Kubernetes 1.34
// and later ask it for claims to deallocate before preemption, and its answer is part of the
// FailedScheduling message. Source: kube-scheduler plugins/dynamicresources.
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kDynamicResources = "DynamicResources";
inline constexpr std::string_view kReasonNoClaims = "no new claims to deallocate";

/// Checked as kube-scheduler does; nothing waits for devices here yet.
struct DynamicResourcesArgs {
  Duration filter_timeout = Duration::seconds(10);
  Duration binding_timeout = Duration::seconds(600);
};
/// As KubeSchedulerConfiguration writes it. Errors name the field.
Result<DynamicResourcesArgs> parse_dynamic_resources_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_dynamic_resources();

} // namespace berth::sched
