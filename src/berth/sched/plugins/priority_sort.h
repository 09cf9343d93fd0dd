// PrioritySort (QueueSort): higher spec.priority first, then the earlier entry to the queue.
// Source: kube-scheduler plugins/queuesort.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kPrioritySort = "PrioritySort";

/// The order itself, for plugins that refine it.
bool by_priority_then_time(const QueuedPod& a, const QueuedPod& b);

std::unique_ptr<Plugin> make_priority_sort();

} // namespace berth::sched
