// The cluster as a tree of domains by node labels (zone, block, rack, NVLink domain): members of a
// group that share a narrower domain talk over fewer and faster hops. Labels are those that cloud
// providers and GPU feature discovery set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/sched/cluster_state.h"

namespace berth::gang {

/// Label keys from the widest level to the narrowest. A level that no node carries does not count.
const std::vector<std::string>& default_topology_levels();

/// A tree is never deeper: the default levels and two that a group names.
inline constexpr std::size_t kMostLevels = 12;

/// Nodes that share the values of all levels down to one.
struct Domain {
  std::string key;                   ///< label of its level; "" for the whole cluster
  std::string value;                 ///< of that label
  bool loose = false;                ///< nodes without the label: near nobody, only left over
  std::size_t depth = 0;             ///< 0: the whole cluster
  std::vector<std::size_t> children; ///< indices in TopologyTree::domains(), by value
  std::vector<sched::NodeId> nodes;  ///< all nodes inside, sorted
};

/// A value. O(nodes * levels).
class TopologyTree {
 public:
  TopologyTree(const sched::ClusterState& state, const std::vector<std::string>& levels);

  /// The whole cluster first; parents come before their children.
  const std::vector<Domain>& domains() const { return domains_; }
  /// No node carries any of the labels.
  bool flat() const { return domains_.front().children.empty(); }

 private:
  void divide(const sched::ClusterState& state, std::size_t domain,
              const std::vector<std::string>& levels, std::size_t level);

  std::vector<Domain> domains_;
};

/// How many members each domain could take, by index: sums of `by_node`, which is indexed by node.
std::vector<std::int64_t> domain_capacities(const TopologyTree& tree,
                                            const std::vector<std::int64_t>& by_node);

} // namespace berth::gang
