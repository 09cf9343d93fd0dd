// kube-scheduler's percentageOfNodesToScore (spec 4): the search ends when enough nodes fit, and
// the next pod's search goes on where this one ended. Berth looks at every node unless a profile
// asks for this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "berth/sched/framework.h"

namespace berth::sched {

/// How many feasible nodes of `nodes` are enough; 0 percent: fewer the larger the cluster, from 50
/// down to 5 percent. At least 100, never more than there are.
std::size_t nodes_to_find(std::size_t nodes, std::int64_t percentage);
/// The same for a profile; none: all nodes are looked at. A profile that scores nothing needs one.
std::optional<std::size_t> nodes_to_find(const Framework& framework, std::size_t nodes);

/// Where searches start, for all profiles of one scheduler.
class NodeSampling {
 public:
  /// All nodes, one of each zone in turn, zones in the order of their first node, starting where
  /// the last search ended. O(nodes) after nodes came or went.
  std::vector<NodeId> order(const ClusterState& state);
  /// The search looked at so many nodes, of so many.
  void looked_at(std::size_t nodes, std::size_t of);

 private:
  std::vector<NodeId> by_zone_;
  std::optional<std::uint64_t> version_; ///< of the node set that is in by_zone_
  std::size_t start_ = 0;
};

} // namespace berth::sched
