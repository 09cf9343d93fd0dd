// DynamicResources (PostFilter), as far as pods without resource claims meet it: Kubernetes 1.34
// and later ask it for claims to deallocate before preemption, and its answer is part of the
// FailedScheduling message. Source: kube-scheduler plugins/dynamicresources.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kDynamicResources = "DynamicResources";
inline constexpr std::string_view kReasonNoClaims = "no new claims to deallocate";

std::unique_ptr<Plugin> make_dynamic_resources();

} // namespace berth::sched
