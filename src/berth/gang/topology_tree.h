// The cluster as a tree of domains by node labels (zone, block, rack, NVLink domain): members of a
// group that share a narrower domain talk over fewer and faster hops. Labels are those that cloud
// providers and GPU feature discovery set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/sched/cluster_state.h"

namespace berth::gang {

/// Label keys from the widest level to the narrowest. A level that no node carries does not count.
const std::vector<std::string>& default_topology_levels();

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

/// Divides `members` of equal shape over the domains inside `domain` that have no children: as few
/// domains as possible on every level, and where one has to be broken into, the one that fits best,
/// so that large free domains stay whole. Precondition: members <= capacity of the domain.
/// Result: domain and number of members, in tree order.
std::vector<std::pair<std::size_t, std::int64_t>>
share_out(const TopologyTree& tree, const std::vector<std::int64_t>& capacities, std::size_t domain,
          std::int64_t members);

} // namespace berth::gang
