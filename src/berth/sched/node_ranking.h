// The nodes that can take a pod of one shape, best first, kept up to date change by change: a
// decision then costs what changed since the last one, not a look at every node.
//
// Scores that compare nodes (Grading::Relative) would make every score depend on every node. But
// nodes of equal grades get equal comparative scores, so nodes are kept in classes by grades, each
// a heap by the sum of absolute scores; comparing one node of each class is comparing all. Plugins
// that count pods by domain (Reach::Domain) say the same of all nodes of a cell, so cells are part
// of what makes a class: a pod that comes changes counts, not nodes, and classes are asked again.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "berth/sched/filter_session.h"

namespace berth::sched {

/// Valid for one shape and one state. Equal, after sync, to filtering and scoring every node anew
/// (decider_test.cc holds it against that).
class NodeRanking {
 public:
  /// `runs`: prepared for a pod of the shape when the state had seen `seen` changes, none of whose
  /// plugins rejected it or named its nodes; none reaches the cluster. The framework must outlive
  /// the ranking. Nothing is ranked before sync.
  NodeRanking(const Framework& framework, std::vector<ActiveRun> runs, std::uint64_t seen);

  /// Is what the runs prepared still true, and what changed since still known?
  bool holds(const ClusterState& state) const;
  /// Looks at the nodes that changed since the last call, at all of them if these are too many.
  /// O(changes * (filters + scores + log nodes)).
  void sync(const ClusterState& state);

  /// The feasible node with the highest total; of equals the first to have arrived. None fits:
  /// none. Without the nodes that pods are nominated to: whether these fit depends on who asks; see
  /// admit. O(classes), times scores if some run counts by domain or classes came or went.
  std::optional<BestNode> choose();
  /// Why each node fails, in order of arrival, as filtering every node would say; from the first
  /// call on it is kept up like the rest. None if that depends on more than the node: runs count by
  /// domain, or pods are nominated. Precondition: synced, nothing fits. O(nodes), a few ns each.
  std::optional<std::vector<NodeFailure>> failures(const ClusterState& state);
  std::vector<ActiveRun>& runs() { return runs_; }

  /// A what-if around the state's own, after the state has changed.
  void added(const PodInfo& pod, NodeId node);
  void removed(const PodInfo& pod, NodeId node);
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
    bool passes = true;      ///< what runs that count by domain say
  };
  struct KeyHash {
    std::size_t operator()(const std::vector<std::uint64_t>& key) const noexcept;
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
  NodeFailure first_failure(NodeId node) const;
  std::uint32_t class_of(NodeId node);
  void put(NodeId node, std::uint32_t cls, Seat seat);
  void settle(Class& cls, std::size_t seat);
  void move_seat(Class& cls, std::size_t to, const Seat& seat);
  void compare_classes();
  void drop_empty_classes();

  std::vector<ActiveRun> runs_;
  /// Filters that look at the node alone, with their place in runs_.
  std::vector<std::pair<std::uint32_t, const Run*>> filters_;
  std::vector<Run*> by_domain_;          ///< runs that count by domain
  std::vector<const Run*> cell_filters_; ///< those of them that filter
  std::vector<Scorer> absolute_;
  std::vector<Scorer> graded_;        ///< relative, by grade
  std::vector<Scorer> relative_;      ///< all of them, in order
  std::vector<Place> places_;         ///< by node
  std::vector<NodeFailure> failures_; ///< by node, if anybody asked
  std::vector<Class> classes_;
  std::vector<std::uint32_t> free_; ///< classes without a key
  std::size_t empty_ = 0;           ///< classes with a key and no node
  std::unordered_map<std::vector<std::uint64_t>, std::uint32_t, KeyHash> class_by_key_;
  // Scratch.
  std::vector<std::uint64_t> key_;
  std::vector<NodeId> dirty_;
  std::vector<NodeId> examples_;
  std::vector<std::size_t> alike_;
  std::vector<Class*> compared_;
  std::vector<std::int64_t> scores_;
  std::uint64_t seen_ = 0; ///< changes of the state that are in
  bool everything_seen_ = false;
  bool classes_changed_ = true; ///< some became empty or stopped being so
};

} // namespace berth::sched
