// Decides pods one after the other and remembers, by shape, what it learnt: which nodes fit and in
// what order (NodeRanking), and who fits nowhere in the present state. Every decision equals
// schedule_one's; only its cost differs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/sched/cycle.h"
#include "berth/sched/dry_run_memo.h"
#include "berth/sched/node_ranking.h"

namespace berth::sched {

/// Framework and state must outlive it and keep their addresses. The state may be changed by others
/// between decisions. Memory: about 32 bytes a node and kind of pod in use, 24 more once it failed,
/// 16 more for each constraint or term that counts by domain; bounded (kMostSlots), the kinds used
/// longest ago are forgotten first.
class Decider {
 public:
  Decider(Framework& framework, ClusterState& state) : framework_(&framework), state_(&state) {}

  /// As schedule_one. O(log nodes + changes since the shape's last decision) for a shape that was
  /// placed before and whose plugins look at each node alone or count by domain, O(nodes)
  /// otherwise.
  Decision decide(const PodPtr& pod, const CycleOptions& options = {});

  Framework& framework() { return *framework_; }
  ClusterState& state() { return *state_; }
  /// Decisions that looked at no more nodes than had changed. For tests and metrics.
  std::uint64_t quick_decisions() const { return quick_; }

 private:
  static constexpr std::size_t kMostSlots = std::size_t{1} << 24;

  /// A rejection without any effect: while the state is the same, pods of the same kind fail the
  /// same. A crowd that fits nowhere then costs one decision.
  struct Rejection {
    std::uint64_t version = 0; ///< of the state
    std::string message;
    std::vector<std::string> unschedulable_plugins;
    std::vector<std::string> pending_plugins;
  };
  /// What was learnt of pods of one shape and shade.
  struct Known {
    std::vector<std::uint32_t> shade; ///< Plugin::shade of every plugin that sees them
    std::unique_ptr<NodeRanking> ranking;
    std::unique_ptr<DryRunMemo> dry_runs; ///< once nothing fitted
    std::optional<Rejection> rejection;
    std::uint64_t used = 0; ///< number of the last decision
    bool met = false;       ///< a shape is ranked when it comes a second time
  };
  static constexpr std::size_t kMostShades = 16;  ///< of one shape
  static constexpr std::size_t kMostDryRuns = 64; ///< memos

  bool shape_tells_all(const PodPtr& pod) const;
  Known& known(const PodInfo& pod);
  Decision decide_at_length(Known& shape, const PodPtr& pod, const CycleOptions& options);
  bool rank(Known& known, FilterSession& session, std::uint64_t seen);
  void drop_ranking(Known& known);
  std::optional<Decision> rejected_before(const Known& known) const;
  void remember_rejection(Known& known, const Decision& decision) const;
  DryRunMemo* dry_runs_of(Known& known);
  std::optional<Decision> from_few(FilterSession& session);
  std::optional<Decision> from_failures(NodeRanking& ranking, FilterSession& session,
                                        const CycleOptions& options);
  void make_room(std::size_t slots);
  std::vector<NodeId> admit_nominated(NodeRanking& ranking, const PodInfo& pod);
  std::optional<BestNode> choose(NodeRanking& ranking, const PodInfo& pod);

  Framework* framework_;
  ClusterState* state_;
  std::vector<std::vector<Known>> known_; ///< by ShapeId
  std::vector<std::uint32_t> shade_;      ///< scratch
  std::size_t slots_ = 0;                 ///< of all rankings
  std::uint64_t decisions_ = 0;
  std::uint64_t quick_ = 0;
};

} // namespace berth::sched
