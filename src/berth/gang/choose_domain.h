// Which topology domain a group should be placed in: the narrowest that holds all of it, and of
// those the one that fits best, so that larger free domains stay whole for larger groups.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/sched/decider.h"

namespace berth::gang {

struct GroupRequest;

/// Pod annotations (Kueue's names, set on a group's pod template): the members must, or would
/// rather, share one domain of the level that this node label names.
inline constexpr std::string_view kRequiredTopology = "kueue.x-k8s.io/podset-required-topology";
inline constexpr std::string_view kPreferredTopology = "kueue.x-k8s.io/podset-preferred-topology";

/// One way to place the members, in their order.
struct DomainChoice {
  struct Share {
    std::vector<sched::NodeId> nodes; ///< sorted
    std::int64_t members = 0;
  };
  std::vector<Share> shares;
  std::vector<sched::NodeId> nodes; ///< of the whole domain, sorted
};

struct DomainChoices {
  std::vector<DomainChoice> best_first; ///< none: topology has no say, or no domain has room
  std::string required_key;             ///< "" unless all must be in one domain of this level
  std::int64_t most = 0;                ///< with required_key: members that fit into one domain
};

/// `pods`: the pending members, hardest first; not empty. Members of equal shape are counted node
/// by node exactly, as the filters say; for a group of several shapes domains are only ordered, by
/// depth and free GPUs, and at most 16 are worth a try. O(nodes * (levels + members a node)).
/// The state is as before afterwards.
DomainChoices choose_domains(sched::Decider& decider, std::span<const sched::PodPtr> pods,
                             const GroupRequest& request);

} // namespace berth::gang
