// Places a pod group whole: every pending member is decided against a state that already holds its
// siblings, and unless enough of them fit at once, all is taken back before anyone could see it. So
// partial gangs never hold GPUs, which Coscheduling's wait at Permit cannot promise.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "berth/gang/groups.h"
#include "berth/sched/decider.h"

namespace berth::gang {

struct MemberDecision {
  sched::PodPtr pod;
  sched::Decision decision;
};

struct GroupDecision {
  /// Enough members have a node: those decided as placed are assumed in the state and may be bound
  /// at once.
  bool placed = false;
  /// One a pending member, in the order in which they were decided.
  std::vector<MemberDecision> members;
};

struct GroupRequest {
  api::Key key;
  std::int64_t min_member = 1;
  std::int64_t already_placed = 0;      ///< members that have a node or have succeeded
  std::vector<sched::PodPtr> pending;   ///< members to decide, not placed
  std::vector<sched::NodeId> placed_on; ///< nodes of the placed members; others join them there
  sched::CycleOptions options;
  std::set<std::string, std::less<>> explained; ///< uids of members whose table is wanted
};

/// The group goes into the narrowest topology domain that holds all of it (choose_domain.h),
/// members next to each other in name order; a required topology is kept to. Within a domain, and
/// where there is none, members are decided one by one in the order of what is hardest to place:
/// most GPUs, then most cpu, then most memory, then name. Members beyond minMember that do not fit
/// stay pending without holding the others back. When the group does not fit, each member's message
/// says how many fitted and which one did not, and why. Cost: one decision a member, twice that
/// when the group is taken back, and a look at every node.
GroupDecision place_group(sched::Decider& decider, const GroupRequest& request);

} // namespace berth::gang
