// Whom a preemptor may evict and what that costs. Pods go one by one as long as minMember members
// of their group stay; beyond that the group is of no use any more and goes whole, from all of its
// nodes. So a group counts with all of its members, and with its highest member's priority.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "berth/gang/groups.h"

namespace berth::gang {

/// Whom room is made for.
struct Preemptor {
  api::Key group; ///< its own group is spared; name "" for a lone pod
  std::int64_t priority = 0;
  TimePoint now; ///< stands in for a missing start time
};

/// Index in VictimBook::victims().
using VictimId = std::size_t;

struct Victim {
  sched::PlacedPod placed;
  std::optional<std::size_t> group; ///< index in VictimBook::groups()
  std::vector<std::size_t> budgets; ///< that protect it
  bool leaving = false;             ///< it is being deleted: its room costs nothing
  bool out = false;                 ///< leaving, or taken
};

/// A pod group with members that may go.
struct VictimGroup {
  api::Key key;
  std::vector<VictimId> members; ///< that may go and are not leaving
  std::int64_t spare = 0;        ///< members that may go and minMember stay
  std::int64_t priority = 0;     ///< of its most important member that stays
  std::int64_t out = 0;          ///< members taken
  bool may_break = false;        ///< every member may go, so it may go whole
  bool runs = true;              ///< minMember members have a node and stay there
  bool whole() const { return out > spare; }
};

/// What a set of victims costs, component by component, smaller is better: kube-scheduler's order
/// (spec 5.3), with groups and GPUs behind the highest priority.
struct EvictionCost {
  std::int64_t violations = 0; ///< evictions beyond what budgets allow
  std::int64_t highest = std::numeric_limits<std::int64_t>::min(); ///< priority of a victim
  std::int64_t groups = 0;                                         ///< running ones that break
  std::int64_t gpus = 0;                                           ///< taken from running pods
  std::int64_t priorities = 0;                                     ///< sum of (priority + 2^31)
  std::int64_t victims = 0;
  std::int64_t latest = 0; ///< minus the earliest start among the most important

  auto operator<=>(const EvictionCost&) const = default;
};

/// Is it cheaper for each of `gain` members than `b` for each of `b_gain`? What adds up over
/// victims is shared among the members that get room, what does not is compared as it is.
bool cheaper_per_member(const EvictionCost& a, std::int64_t gain, const EvictionCost& b,
                        std::int64_t b_gain);

/// Holds for one state that does not change meanwhile, but for what-if changes while it is not
/// asked. O(placed pods) to make.
class VictimBook {
 public:
  VictimBook(const sched::ClusterState& state, const Groups& groups, const Preemptor& preemptor);

  const std::vector<Victim>& victims() const { return victims_; }
  const std::vector<VictimGroup>& groups() const { return groups_; }
  std::span<const VictimId> on(sched::NodeId node) const { return by_node_[node.index()]; }

  /// Who of a node may still go, dearest first: whom budgets protect, then by priority (of the
  /// group, if it would break), then members of groups that would break, then as kube-scheduler has
  /// it.
  std::vector<VictimId> removable(sched::NodeId node) const;
  /// The groups that break when these go too, by index.
  std::vector<std::size_t> broken_by(std::span<const VictimId> more) const;
  /// `more` and the rest of the groups that break with it.
  std::vector<VictimId> closed(std::vector<VictimId> more) const;
  /// Of taking closed(more), beside what is taken already.
  EvictionCost cost(std::span<const VictimId> more) const;

  /// Precondition: none is out.
  void take(std::span<const VictimId> closed);
  /// Precondition: all were taken.
  void give_back(std::span<const VictimId> taken);
  /// Gives everything back.
  void reset();
  /// Everybody taken, by id.
  std::vector<VictimId> taken() const;
  /// Is some budget of it overdrawn by what is taken?
  bool violates(VictimId id) const;
  /// As kube-scheduler sorts victims.
  bool more_important(VictimId a, VictimId b) const;

 private:
  struct Toll;
  void count(VictimId id, Toll& toll) const;
  EvictionCost cost_of(const Toll& toll) const;
  std::optional<std::size_t> group_index(const sched::PodInfo& pod,
                                         const sched::ClusterState& state, const Groups& groups);
  void index_budgets(const sched::ClusterState& state);
  std::vector<std::size_t> budgets_of(const sched::PodInfo& pod) const;
  /// Priority that going costs, and whether it breaks the group.
  std::pair<std::int64_t, bool> weight(VictimId id, std::int64_t of_group_on_node) const;

  Preemptor preemptor_;
  std::vector<Victim> victims_;
  std::vector<VictimGroup> groups_;
  std::map<api::Key, std::optional<std::size_t>> group_of_; ///< none: no such PodGroup
  std::vector<std::vector<VictimId>> by_node_;
  std::vector<const sched::DisruptionBudget*> budgets_;
  std::vector<std::int64_t> left_; ///< evictions that a budget still allows, may be negative
};

} // namespace berth::gang
