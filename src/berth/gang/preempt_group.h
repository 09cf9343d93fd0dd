// Preemption for a pod group: whom to evict, on however many nodes, so that the whole of it fits;
// nobody if it could not be placed whole all the same. Kubernetes preempts for one pod on one node,
// so a gang there either never preempts or evicts member by member in vain.
//   - Whom a group may evict: pods of lower priority than its least important pending member,
//   unless
//     a member says preemptionPolicy: Never. A group that would break goes whole (victim_book.h).
//   - Room is made for as many members as minMember lacks: the hardest to place, or, if these
//   cannot
//     be helped, the easiest. The others wait for room as they do without preemption. A required
//     topology (choose_domain.h) is kept to.
//   - The cheapest set that the search finds (eviction_search.h) counts only if place_group, tried
//     on the state without the victims, places the group.
//   - Every member is nominated to its node, so that nobody of its priority or less takes the room
//     while the victims end. As long as they do, nobody else is evicted.
#pragma once

#include <optional>
#include <string>

#include "berth/gang/place_group.h"
#include "berth/gang/preemption_plan.h"

namespace berth::gang {

inline constexpr std::string_view kGroupNever =
    "not eligible due to preemptionPolicy=Never of a member.";
inline constexpr std::string_view kGroupTerminating =
    "not eligible due to terminating pods on the members' nominated nodes.";
inline constexpr std::string_view kGroupInVain =
    "evicting pods of lower priority would not make room for the whole group.";

/// A plan, or why there is none.
struct GroupPreemption {
  std::optional<PreemptionPlan> plan;
  std::string_view reason;
};

/// Does the profile have GangPreemption at PostFilter?
bool preempts_for_groups(const sched::Framework& framework);

/// Of the profile's decisions so far only the state counts, which is as before afterwards but for
/// the order of nominations. Precondition: place_group does not place the group.
/// Cost: that of the search, once for each domain of a required topology with only its nodes, and
/// of place_group, up to kMostTrials times.
GroupPreemption plan_for_group(sched::Decider& decider, const Groups& groups,
                               const GroupRequest& request);

/// place_group. With GangPreemption at PostFilter: if the group does not fit, nominates the members
/// and names the victims, each with the member on whose node it is; if it does, members beyond
/// minMember that found no room preempt each for itself.
GroupDecision place_or_preempt(sched::Decider& decider, const Groups& groups,
                               const GroupRequest& request);

} // namespace berth::gang
