// Which topology domains a group of one shape should be placed in: with the least spread, and then
// where it fits best, so that larger free domains stay whole for larger groups.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/gang/share_out.h"
#include "berth/sched/decider.h"

namespace berth::gang {

struct GroupRequest;

/// Pod annotations (Kueue's names, set on a group's pod template): the members must, or would
/// rather, share one domain of the level that this node label names.
inline constexpr std::string_view kRequiredTopology = "kueue.x-k8s.io/podset-required-topology";
inline constexpr std::string_view kPreferredTopology = "kueue.x-k8s.io/podset-preferred-topology";

struct GroupTopology {
  TopologyTree tree;
  std::string required_key; ///< "" unless all must be in one domain of this level
};
/// By the annotations of the first of `pods` that has any. O(nodes * levels).
GroupTopology topology_for(const sched::ClusterState& state, std::span<const sched::PodPtr> pods);

/// Do the pods all have one shape?
bool of_one_shape(std::span<const sched::PodPtr> pods);

struct DomainChoice {
  /// For as many members as fit, in their order; none: too few fit.
  std::vector<Share> shares;
  std::vector<sched::NodeId> nodes;  ///< of the whole domain, sorted
  std::vector<std::int64_t> by_node; ///< members that fit, by NodeId::index()
  std::int64_t most = 0;             ///< members that fit into one domain that would be allowed
};

/// `pods`: the pending members, of one shape. They are counted node by node exactly, as the filters
/// say of each node for itself. O(nodes * (levels + members a node)). The state is as before
/// afterwards.
DomainChoice choose_domain(sched::Decider& decider, std::span<const sched::PodPtr> pods,
                           const GroupRequest& request, const GroupTopology& topology);

/// Domains of the required level that hold all members placed earlier, the one with most free GPUs
/// first.
std::vector<std::vector<sched::NodeId>> allowed_domains(const sched::ClusterState& state,
                                                        const GroupRequest& request,
                                                        const GroupTopology& topology);

} // namespace berth::gang
