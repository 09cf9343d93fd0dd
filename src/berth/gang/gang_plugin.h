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

#include <boost/json/value.hpp>

#include "berth/gang/groups.h"
#include "berth/sched/framework.h"

namespace berth::gang {

inline constexpr std::string_view kGangPlugin = "Gang";
/// Its name in files written for scheduler-plugins.
inline constexpr std::string_view kCoscheduling = "Coscheduling";
inline constexpr std::string_view kReasonNoGroup = "PodGroup not found";
inline constexpr std::int64_t kDefaultTimeoutSeconds = 60;

/// CoschedulingArgs.
struct GangArgs {
  /// Time a placed member may wait for the rest, where its group says nothing.
  Duration permit_waiting_time = Duration::seconds(kDefaultTimeoutSeconds);
};
/// {"permitWaitingTimeSeconds": 60, "podGroupBackoffSeconds": 0}; the latter is read and makes no
/// difference: a group that does not fit as a whole never holds anything. Errors name the field.
Result<GangArgs> parse_gang_args(const boost::json::value& args);

/// A factory of the plugin over these groups, for Registry::add(kGangPlugin, ...).
sched::PluginFactory gang_plugin(std::shared_ptr<const Groups> groups);

/// While it lives, the framework's Gang plugin lets this group's members pass Permit, and rejects
/// no waiting ones where a member loses its node: whoever places the group whole counts them
/// itself, once and not once a member. Does nothing if the profile has no such plugin. One at a
/// time.
class WholeGroup {
 public:
  WholeGroup(sched::Framework& framework, const api::Key& group);
  ~WholeGroup();
  WholeGroup(const WholeGroup&) = delete;
  WholeGroup& operator=(const WholeGroup&) = delete;

  /// What Permit would say when there are enough: the group's members, waiting or not. O(members).
  sched::Effects enough() const;

 private:
  class Gang* plugin_ = nullptr;
};

} // namespace berth::gang
