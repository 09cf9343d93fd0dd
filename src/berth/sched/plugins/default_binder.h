// DefaultBinder (Bind): the pod is bound by posting pods/<name>/binding with the node as target.
// Deciding knows only that this plugin binds; the scheduler process posts. Source: kube-scheduler
// plugins/defaultbinder.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kDefaultBinder = "DefaultBinder";

std::unique_ptr<Plugin> make_default_binder();

} // namespace berth::sched
