// The whole table of one decision, node x plugin: what every filter said of a node, what every
// score plugin gave it, and what it lacks. Made only when asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/sched/ids.h"
#include "berth/sched/status.h"

namespace berth::sched {

class FilterSession;

struct DecisionTable {
  /// A resource of which the pod asks for more than the node has left.
  struct Shortfall {
    ResourceId resource;
    std::int64_t asked = 0; ///< cpu in milli, others whole
    std::int64_t free = 0;  ///< below zero: the node is overcommitted
    bool operator==(const Shortfall&) const = default;
  };
  struct NodeRow {
    NodeId node;
    Status status;         ///< Success if feasible; else the first failing plugin and its reasons
    bool looked_at = true; ///< false: not filtered; `status` says why
    std::vector<Status> also; ///< what later filters have against it, had the first not refused it
    std::vector<Shortfall> short_of; ///< by resource; refused nodes only
    std::int64_t total = 0;
    std::vector<std::int64_t> raw;      ///< by score plugin, feasible nodes only
    std::vector<std::int64_t> weighted; ///< after normalisation, times weight
  };
  std::vector<std::string> score_plugins; ///< that were asked, in order; none for a single node
  std::vector<std::int64_t> weights;      ///< of score_plugins
  std::vector<NodeRow> rows;              ///< in node order
  /// The node with the highest total. Scheduled there, unless Reserve or Permit refused or the
  /// pod's group did not fit.
  std::optional<NodeId> best;
};

/// What the filters said, once the cycle has filled session.failures. Scores are added by
/// choose_node. O(nodes * filters).
std::unique_ptr<DecisionTable> make_table(FilterSession& session, std::span<const NodeId> feasible);

} // namespace berth::sched
