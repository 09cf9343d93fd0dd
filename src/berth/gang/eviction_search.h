// Which pods to evict, on however many nodes, so that all members of a group find room at once.
// Node by node the filters are asked what they would say; the search itself is greedy: the free
// room first, then again and again the eviction that costs least for each member that gets room by
// it, and at the end whoever turns out not to be in the way stays after all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "berth/gang/victim_book.h"
#include "berth/sched/node_trial.h"

namespace berth::gang {

/// Members of one shape.
struct PendingClass {
  std::vector<sched::PodPtr> pods;         ///< that need room, not placed; not empty
  sched::FilterSession* session = nullptr; ///< of one of them, prepared; outlives the search
};

/// Exact for filters that look at one node at a time (and at what siblings do there); others are
/// asked with everything else as it is, so that the answer has to be tried. Cost, with P pods on a
/// node that may go, C classes and E evictions: O(nodes * (P + members a node) + E * (P + log
/// nodes)) filter calls, and up to 2^P looks at the node's GPU sets for each eviction where P <=
/// kMostHolders.
class EvictionSearch {
 public:
  static constexpr std::size_t kMostHolders = 8;

  /// Classes hardest first; their sessions are of one state, which is as before after every call.
  EvictionSearch(VictimBook& book, std::vector<PendingClass> classes);

  /// Is there a set of victims with which all members have room on these nodes? Then the book,
  /// which had taken nobody, has taken it. Of equal nodes the first ones are used.
  bool find(std::span<const sched::NodeId> nodes);

  /// Where the members of a class have room, in node order. After find().
  std::vector<std::pair<sched::NodeId, std::int64_t>> rooms(std::size_t member_class) const;
  /// Nodes on which evicting somebody was looked at, so far.
  std::size_t tried() const { return tried_.size(); }

 private:
  using Counts = std::vector<std::int64_t>; ///< members by class

  struct Site {
    std::vector<VictimId> out; ///< of this node
    Counts members;            ///< that have room here
    std::int64_t quality = 0;  ///< sum of their GPU sets' all-reduce
    std::uint64_t changes = 0;
    bool settled = false; ///< without any of `out` one member less would have room
  };
  struct Fit {
    Counts members;
    std::int64_t quality = 0;
  };
  /// Evicting these from a node, and what that does elsewhere.
  struct Move {
    sched::NodeId node;
    std::vector<VictimId> set; ///< of the node
    EvictionCost cost;
    std::int64_t gain = 0; ///< members that get room
    std::size_t position = 0;
    std::uint64_t changes = 0; ///< of the site when it was thought of
    std::uint64_t epoch = 0;
  };
  struct GpuSet {
    hardware::GpuMask gpus = 0;
    std::int64_t all_reduce = 0;
  };

  Site& site(sched::NodeId node) { return sites_[node.index()]; }
  sched::ClusterState& state() { return classes_.front().session->state(); }
  bool fits(std::size_t member_class, sched::NodeId node) {
    return classes_[member_class].session->filter(node).verdict.ok();
  }
  GpuSet gpus_for(sched::NodeId node, std::int64_t gpus);
  GpuSet best_of(const sched::NodeInfo& node, hardware::GpuMask open, std::int64_t gpus);

  Fit fit(sched::NodeId node, std::span<const VictimId> also_out, const Counts& wanted);
  void seat(sched::NodeTrial& trial, sched::NodeId node, std::size_t member_class,
            std::int64_t from, std::int64_t to, Fit& fit);
  void take_out(sched::NodeTrial& trial, std::span<const VictimId> ids);

  void begin(std::span<const sched::NodeId> nodes);
  bool find_for(std::size_t member_class);
  std::int64_t use_free_room(std::size_t member_class, std::int64_t needed);
  bool could_hold(std::size_t member_class, std::int64_t needed);
  std::optional<Move> best_move(std::size_t member_class, sched::NodeId node, std::int64_t needed);
  std::optional<std::vector<VictimId>> smallest_set(std::size_t member_class, sched::NodeId node);
  std::optional<std::vector<VictimId>> reprieved(std::size_t member_class, sched::NodeId node,
                                                 const std::vector<VictimId>& removable,
                                                 const std::set<VictimId>& must_go,
                                                 const std::set<VictimId>& must_stay);
  std::optional<hardware::GpuMask> open_on(sched::NodeId node);
  std::vector<VictimId> with_better_gpus(std::size_t member_class, sched::NodeId node,
                                         const std::vector<VictimId>& removable,
                                         std::vector<VictimId> set);
  std::int64_t gain_elsewhere(std::size_t member_class, std::size_t group, sched::NodeId except,
                              std::int64_t needed);
  std::int64_t apply(std::size_t member_class, const Move& move, std::int64_t needed);
  std::map<sched::NodeId, std::vector<VictimId>> by_node(std::span<const VictimId> ids) const;

  void reprieve();
  struct Saved;
  bool try_return(std::span<const VictimId> ids);
  bool reseat(std::size_t member_class, Saved& saved);
  void return_members_beyond_spare(std::size_t group);

  VictimBook* book_;
  std::vector<PendingClass> classes_;
  std::vector<sched::FilterSession*> sessions_;
  std::vector<std::vector<sched::NodeId>> nodes_;  ///< by class: where to look
  std::vector<std::vector<std::size_t>> position_; ///< by class and node: index in nodes_
  std::vector<Site> sites_;                        ///< by node
  std::vector<std::set<std::pair<std::size_t, sched::NodeId>>>
      room_; ///< by class: positions and nodes that may have room for one more
  std::set<sched::NodeId> tried_;
  std::vector<sched::NodeId> touched_; ///< sites that a search has changed
  std::uint64_t epoch_ = 0;            ///< moves applied
  bool chooses_gpus_ = false;
  std::map<std::pair<const hardware::Platform*, std::pair<hardware::GpuMask, std::int64_t>>, GpuSet>
      gpu_sets_; ///< looked up, never walked
  struct KnownGain {
    std::uint64_t changes = 0;
    std::size_t member_class = 0;
    std::int64_t gain = 0;
  };
  std::map<std::pair<std::size_t, sched::NodeId>, KnownGain> gains_; ///< by group and node
};

} // namespace berth::gang
