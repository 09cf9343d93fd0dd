// What evicting pods from a node came to, remembered for pods of the same kind: a preemption then
// costs a dry run for each node that changed since the last one, not for each node.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/sched/preemption.h"

namespace berth::sched {

/// Valid for pods of one shape and shade in one state and framework. Memory: about 150 bytes a node
/// that was tried.
class DryRunMemo {
 public:
  /// Before the first run of a session by the rule, which outlives them.
  void open(FilterSession& session, const VictimRule& rule);
  /// As select_victims(session, node, rule). What it gave before holds while the node is the same
  /// (its generation), budgets are, no pod is nominated there, and every filter looks at the node
  /// alone. The reference is good until the next call. O(1) if it holds.
  const DryRun& run(FilterSession& session, NodeId node);

 private:
  struct Entry {
    std::uint64_t generation = 0; ///< of the node; 0: nothing is known
    TimePoint now;
    DryRun result = NoVictims{};
  };

  const VictimRule* rule_ = nullptr;
  std::vector<Entry> entries_;       ///< by node
  bool applies_ = false;             ///< to the session
  std::uint64_t budgets_ = 0;        ///< version that the entries are about
  std::vector<std::size_t> plugins_; ///< that had Runs, in order: failures name Runs by position
  DryRun scratch_ = NoVictims{};
};

} // namespace berth::sched
