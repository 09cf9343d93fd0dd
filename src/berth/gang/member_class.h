// Members of a group that are interchangeable, and how many more of them each node could take: what
// a search over nodes asks again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/gang/spread_levels.h"
#include "berth/sched/decider.h"
#include "berth/sched/filter_session.h"

namespace berth::gang {

/// Most GPUs first, then most cpu, then most memory; of equal ones shorter names first, so that
/// worker-2 comes before worker-10.
bool harder_to_place(const sched::PodInfo& a, const sched::PodInfo& b);

/// What a member would leave behind on a node, less is better.
struct Fragments {
  bool breaks_whole_node = false; ///< it had all its GPUs free, and some stay so
  std::int64_t gpus_left = 0;     ///< free ones

  auto operator<=>(const Fragments&) const = default;
};
/// Nothing for members with parts of GPUs: which parts are left is their own plugins' matter.
Fragments fragments_left(const sched::NodeInfo& node, const sched::PodInfo& pod);

/// One class of members during one search. The framework, the state and the levels must outlive it.
class MemberClass {
 public:
  /// `pods`: not empty, one shape, in the order in which they are to be placed. Asks the filters of
  /// every node. O(nodes * members a node).
  MemberClass(const sched::Framework& framework, sched::ClusterState& state,
              const SpreadLevels& levels, std::vector<sched::PodPtr> pods, TimePoint now);

  const std::vector<sched::PodPtr>& pods() const { return pods_; }
  /// Does a member depend on where its siblings are, so that it may fit only after them (required
  /// pod affinity, topology spread)?
  bool follows_others() const { return follows_; }
  /// Do filters look at each node alone? Then slots() are counts, and only get fewer as members are
  /// placed; else they are 1 and nobody knows.
  bool counted() const { return counted_; }
  /// Members that the node could take, with nobody placed elsewhere; an upper bound once somebody
  /// is.
  std::int64_t slots(sched::NodeId node) const { return slots_[node.index()]; }
  std::int64_t slots_in(std::size_t level, std::size_t unit) const { return in_[level][unit]; }
  std::span<const std::int64_t> slots_in(std::size_t level) const { return in_[level]; }
  std::int64_t total() const { return total_; }
  /// Nodes with slots when the search began.
  std::int64_t nodes_at_first() const { return nodes_at_first_; }

  /// The node has changed: counts again, if that can be told. Answers what was there before.
  std::int64_t recount(sched::NodeId node);
  void set_slots(sched::NodeId node, std::int64_t slots);

  /// False: some plugin stands against the pod wherever it goes, as all is now.
  bool may_go_anywhere(const sched::PodPtr& pod) const;

  /// Does the next member fit on the node as all is now? `moment` names the state: equal numbers,
  /// equal states. O(filters), O(prepare) more for the first node of a moment where members are not
  /// counted.
  bool fits(sched::NodeId node, std::uint64_t moment);

 private:
  bool looks_at_nodes_alone() const;
  std::int64_t count(sched::NodeId node);

  const sched::Framework* framework_;
  sched::ClusterState* state_;
  const SpreadLevels* levels_;
  std::vector<sched::PodPtr> pods_;
  TimePoint now_;
  bool follows_ = false;
  bool counted_ = false;
  std::unique_ptr<sched::FilterSession> session_;
  std::vector<std::int64_t> slots_;           ///< by NodeId::index()
  std::vector<std::vector<std::int64_t>> in_; ///< by level, by unit
  std::int64_t total_ = 0;
  std::int64_t nodes_at_first_ = 0;
  std::unique_ptr<sched::FilterSession> latest_; ///< prepared at `latest_moment_`
  bool latest_ok_ = false;
  std::uint64_t latest_moment_ = 0;
};

/// The members by class: of one shape and shade, and of equal labels as far as required terms of
/// any of them look at labels. Most constrained first: those that follow others last, then by nodes
/// that could take one, then hardest first.
std::vector<MemberClass> member_classes(sched::Decider& decider, const SpreadLevels& levels,
                                        std::span<const sched::PodPtr> pods, TimePoint now);

} // namespace berth::gang
