// GangPreemption (PostFilter): preemption that knows pod groups and which GPUs hang together. Takes
// the place of DefaultPreemption, whose rules hold where these say nothing else:
//   - A group is preempted for as a whole (preempt_group.h), by the scheduler process; this plugin
//     is asked for lone pods, and for members of a group that has its minMember without them, or
//     with this one. For other members it evicts nobody.
//   - Running groups are victims as a whole once fewer than minMember members would stay, with the
//     priority of their most important member (victim_book.h).
//   - On a node that set of victims is preferred that leaves the pod the best GPU set to be had
//     there (all-reduce, as GpuTopology measures it), violating no more budgets for it.
//   - Candidates are compared by: budget violations, highest priority, running groups broken, GPUs
//     taken, sum of priorities, number of victims, latest start.
//   - Pods that are being deleted anyway cost nothing.
// All nodes are looked at, not a sample. A pod that extenders have a say in is preempted for as
// DefaultPreemption does. No args. State: everything. Cost: eviction_search.h, for one member.
#pragma once

#include <string_view>

#include "berth/gang/groups.h"
#include "berth/sched/framework.h"

namespace berth::gang {

inline constexpr std::string_view kGangPreemption = "GangPreemption";

/// A factory of the plugin over these groups, for Registry::add(kGangPreemption, ...).
sched::PluginFactory gang_preemption_plugin(std::shared_ptr<const Groups> groups);

} // namespace berth::gang
