// Plugin Gang: pods of a PodGroup are of use only together. Rules of Coscheduling
// (scheduler-plugins, KEP-42) for when a member may be tried and when it may be bound;
// place_group.h adds what Coscheduling lacks, so that members never hold room for siblings that do
// not fit.
//   QueueSort  priority, then the group's creation (a lone pod's first attempt), then group, then
//   pod: members are adjacent PreFilter  the PodGroup exists and at least minMember members do;
//   otherwise Unresolvable Permit     placed members + this one >= minMember: allow all; else wait,
//   at most scheduleTimeoutSeconds (60) Unreserve  a member that loses its node takes the waiting
//   ones with it
// Depends on: the group object, its members, which of them have nodes. Woken by: PodGroup events.
#pragma once

#include <memory>

#include "berth/gang/groups.h"
#include "berth/sched/framework.h"

namespace berth::gang {

inline constexpr std::string_view kGangPlugin = "Gang";
inline constexpr std::string_view kReasonNoGroup = "PodGroup not found";
inline constexpr std::int64_t kDefaultTimeoutSeconds = 60;

/// Time a placed member of the group may wait for the rest.
Duration schedule_timeout(const model::PodGroup& group);

/// A factory of the plugin over these groups, for Registry::add(kGangPlugin, ...).
sched::PluginFactory gang_plugin(std::shared_ptr<const Groups> groups);

} // namespace berth::gang
