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
  /// Members decided while nodes were searched for; 0 where counting was enough.
  std::int64_t trials = 0;
  /// False: trials ran out before it could be said that there is no placement, or none with less
  /// spread.
  bool proven = true;
};

/// Trials that one search may take before it gives up, unless the request says otherwise.
inline constexpr std::int64_t kDefaultTrials = 5000;

struct GroupRequest {
  api::Key key;
  std::int64_t min_member = 1;
  std::int64_t already_placed = 0;      ///< members that have a node or have succeeded
  std::vector<sched::PodPtr> pending;   ///< members to decide, not placed
  std::vector<sched::NodeId> placed_on; ///< nodes of the placed members; others join them there
  sched::CycleOptions options;
  std::set<std::string, std::less<>> explained; ///< uids of members whose table is wanted
  /// Beside one for each member. Counted, not timed: the same group gets the same answer
  /// everywhere.
  std::int64_t trials = kDefaultTrials;
};

/// A group is placed if enough of its members fit at once. What is preferred, in this order:
///   1. all pending members; else at least as many as minMember asks for, and who else fits
///   2. with a required topology (choose_domain.h): only one domain of that level, or nothing
///   3. least spread: the fewest units of the widest level, then of the next (spread_levels.h);
///      those that members placed earlier are in count as used
///   4. member by member, where it fits best: units in use, then those that could hold all that is
///      left, the tightest first, then the roomiest
///   5. nodes with all GPUs free stay whole, if others will do; then the fewest GPUs stay free on
///      the node
///   6. the profile's scores, then the lowest index
/// Members of one shape are counted (share_out.h): 1 to 3 exactly, however large the group; where
/// no node carries a topology label, 4 and 5 are left to the profile's scores. Groups of several
/// shapes, and those with rules that look across nodes, are searched for with backtracking
/// (group_search.h): exactly while trials last, first for all members, then for as many as are
/// needed, then for less spread. Ranks that follow each other are near each other: equal members
/// are placed in the order of their names.
///
/// A group that does not fit holds nothing. Each member's message says how many fitted and which
/// one did not, and why; and if trials ran out, that a placement may exist. Cost: one decision a
/// member, at most twice that when it is taken back, a look at every node a shape, and the trials.
GroupDecision place_group(sched::Decider& decider, const GroupRequest& request);

} // namespace berth::gang
