// The search for nodes that take a whole group at once, where members differ in shape or have rules
// about each other: depth first with backtracking, each member decided for real against a state
// that holds those before it.
//
// What keeps it small. Members of a class are interchangeable: once a node has failed for one of
// them, it has for the rest of its class. Nodes that answer alike (alike_nodes.h) fail together.
// The most constrained class goes first, and before anybody is placed slots and GPUs are counted,
// in all and in the units still open, so that what cannot be is seen without trying.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "berth/gang/alike_nodes.h"
#include "berth/gang/member_class.h"
#include "berth/gang/place_group.h"

namespace berth::gang {

enum class SearchAnswer {
  Found,       ///< everybody has a node, but for those that may stay behind
  None,        ///< there is no such placement
  OutOfTrials, ///< it was not found, nor excluded, with as many trials as were allowed
};

struct SearchLimits {
  static constexpr std::int64_t kAny = std::int64_t{1} << 62;

  std::vector<std::int64_t> most_units; ///< by level: units that may hold members
  std::int64_t may_stay = 0;            ///< members that need no node
};

/// Complete as long as rules only get stricter when a member is placed, but for required pod
/// affinity, whose members are placed after the others; with hard topology spread a placement may
/// be missed. Decider, request and levels must outlive it.
class GroupSearch {
 public:
  GroupSearch(sched::Decider& decider, const GroupRequest& request,
              std::span<const sched::PodPtr> pods, const SpreadLevels& levels);

  /// Looks for a placement; afterwards, if one was found, its members are placed. A trial is one
  /// member decided. Precondition: nobody is placed (take_back).
  SearchAnswer run(const SearchLimits& limits, std::int64_t trials);
  void take_back();

  /// Trials of all runs.
  std::int64_t trials() const { return trials_; }
  /// Units in use at a level, those of members placed earlier among them.
  std::int64_t units_in_use(std::size_t level) const { return open_units_[level]; }
  /// The fewest that slots and GPUs allow. Precondition: nobody is placed.
  std::int64_t fewest_units(std::size_t level, const SearchLimits& limits);
  /// Those placed, in the order in which they were.
  std::vector<MemberDecision>& placed() { return placed_; }
  const std::vector<MemberDecision>& placed() const { return placed_; }
  /// Places the members as they were then. Precondition: that was a run's, nobody is placed.
  void repeat(const std::vector<std::pair<sched::PodPtr, sched::NodeId>>& plan);

 private:
  /// One choice: who is next, and what was found out about it.
  struct Frame {
    std::vector<std::size_t> classes; ///< any of them may be next
    std::size_t at = 0; ///< whose turn: first each is tried for a node, then each may stay behind
    std::size_t excluded = 0; ///< length of excluded_log_ when the choice came up
    bool holds = false;       ///< the choice made is in effect

    std::size_t current() const { return classes[at % classes.size()]; }
    bool stays() const { return at >= classes.size(); }
    bool done() const { return at == 2 * classes.size(); }
  };
  struct Placed {
    std::size_t of = 0; ///< class
    sched::NodeId node;
    std::uint64_t moment = 0;        ///< before
    std::uint64_t story = 0;         ///< of the node before
    std::int64_t free_gpus = 0;      ///< of the node before
    std::vector<std::int64_t> slots; ///< of the node before, by class
  };
  struct Unit {
    std::int64_t members = 0;
    std::int64_t free_gpus = 0;
  };
  enum class Tried { Placed, Exhausted, OutOfTrials };

  std::int64_t remaining(std::size_t of) const;
  bool everybody_has_a_node() const;
  Frame next_choice() const;
  bool can_still_fit() const;
  std::int64_t reachable(std::size_t level, std::span<const std::int64_t> amounts) const;
  sched::Decision decide(const sched::PodPtr& pod, std::span<const sched::NodeId> only);
  Tried try_next(std::size_t of);
  bool advance(Frame& frame);
  void stay_behind(std::size_t of, std::size_t from);
  void rank_units(std::size_t of);
  std::vector<sched::NodeId> best_nodes(std::size_t of);
  void hold(std::size_t of, MemberDecision decided);
  void let_go();
  void exclude(std::size_t of, sched::NodeId node);
  void exclude_alike(std::size_t of, sched::NodeId node);
  void unexclude(std::size_t mark);
  void count_unit(sched::NodeId node, std::int64_t members);
  void set_free_gpus(sched::NodeId node, std::int64_t free);

  sched::Decider* decider_;
  const GroupRequest* request_;
  const SpreadLevels* levels_;
  bool gpus_count_ = false; ///< no pod gets GPUs that others have
  std::vector<MemberClass> classes_;
  std::vector<sched::NodeId> nodes_; ///< that members may be on, sorted
  bool has_outsiders_ = false;       ///< members were placed outside of what is required
  std::optional<AlikeNodes> alike_;
  SearchLimits limits_;
  std::int64_t trials_ = 0;
  std::int64_t last_trial_ = 0; ///< of this run
  std::uint64_t moment_ = 0;
  std::uint64_t next_moment_ = 1;
  // what is placed
  std::vector<std::size_t> next_; ///< by class: its first member without a node
  std::vector<std::size_t> end_;  ///< by class: members from here on stay behind
  std::int64_t staying_ = 0;
  std::int64_t gpus_wanted_ = 0; ///< by all members that have none yet
  std::vector<MemberDecision> placed_;
  std::vector<Placed> history_;
  // what a node or unit has
  std::vector<std::uint64_t> stories_;   ///< by node: who of the group came, in what order
  std::vector<std::int64_t> free_gpus_;  ///< by node
  std::vector<std::vector<Unit>> units_; ///< by level
  std::vector<std::int64_t> open_units_; ///< by level: with members
  std::int64_t free_in_all_ = 0;
  std::vector<std::vector<bool>> excluded_; ///< by class, by node
  std::vector<std::pair<std::size_t, sched::NodeId>> excluded_log_;
  std::vector<std::vector<std::uint32_t>> ranks_; ///< by level, by unit: scratch of best_nodes
};

} // namespace berth::gang
