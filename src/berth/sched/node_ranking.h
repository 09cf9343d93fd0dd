// The nodes that can take a pod of one shape, best first, kept up to date change by change: a
// decision then costs what changed since the last one, not a look at every node.
//
// Scores that compare nodes (Grading::Relative) would make every score depend on every node. But
// nodes of equal grades get equal comparative scores, so nodes are kept in classes by grades, each
// a heap by the sum of absolute scores; comparing one node of each class is comparing all.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "berth/sched/filter_session.h"

namespace berth::sched {

/// Valid for one shape and one state. Equal, after sync, to filtering and scoring every node anew
/// (decider_test.cc holds it against that).
class NodeRanking {
 public:
  /// `runs`: prepared for a pod of the shape, none of whose plugins rejected it or named its nodes;
  /// each reaches the node alone. The framework must outlive the ranking. Nothing is ranked before
  /// sync.
  NodeRanking(const Framework& framework, std::vector<ActiveRun> runs);

  /// Is what the runs prepared still true?
  bool holds() const;
  /// Looks at the nodes that changed since the last call, at all of them if that was too long ago.
  /// O(changes * (filters + scores + log nodes)).
  void sync(const ClusterState& state);

  /// Nodes that fit, without those that pods are nominated to: whether these fit depends on who
  /// asks. See admit.
  std::size_t feasible() const { return feasible_; }
  /// The feasible node with the highest total; of equals the first to have arrived. Precondition:
  /// feasible() > 0. O(classes).
  NodeId best();
  std::vector<ActiveRun>& runs() { return runs_; }

  /// Do the filters pass the node as it is now?
  bool fits(const ClusterState& state, NodeId node) const;
  /// Ranks a node that pods are nominated to, for one pod; take it out again afterwards.
  void admit(const ClusterState& state, NodeId node);
  void take_out(NodeId node);

  /// Memory is in proportion to this.
  std::size_t slots() const { return places_.size(); }

 private:
  struct Seat {
    std::int64_t score = 0; ///< sum of the absolute scores, weighted
    std::uint64_t arrival = 0;
    NodeId node;
    bool better_than(const Seat& other) const {
      return score != other.score ? score > other.score : arrival < other.arrival;
    }
  };
  struct Class {
    std::vector<Seat> heap;  ///< the best in front
    std::int64_t offset = 0; ///< comparative scores of this class, weighted
  };
  static constexpr std::uint32_t kNowhere = UINT32_MAX;
  struct Place {
    std::uint32_t cls = kNowhere;
    std::uint32_t seat = 0;
  };
  struct Scorer {
    Run* run = nullptr;
    std::int64_t weight = 1;
  };

  void look_at(const ClusterState& state, NodeId node);
  std::uint32_t class_of(NodeId node);
  void put(NodeId node, std::uint32_t cls, Seat seat);
  void settle(Class& cls, std::size_t seat);
  void move_seat(Class& cls, std::size_t to, const Seat& seat);
  void compare_classes();

  std::vector<ActiveRun> runs_;
  std::vector<const Run*> filters_;
  std::vector<Scorer> absolute_;
  std::vector<Scorer> relative_;
  std::vector<Place> places_; ///< by node
  std::vector<Class> classes_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> class_by_grades_;
  std::vector<std::uint64_t> grades_; ///< scratch
  std::size_t feasible_ = 0;
  std::uint64_t seen_ = 0; ///< changes of the state that are in
  bool everything_seen_ = false;
  bool classes_changed_ = true; ///< some became empty or stopped being so
};

} // namespace berth::sched
