// Which CPUs to take for one container out of those that are free: the kubelet's packed algorithm,
// from the whole to the part: NUMA nodes and sockets, groups around a last level cache, cores,
// threads; at each level first from the group that has the least left.
#pragma once

#include "berth/topology/cpu_set.h"
#include "berth/topology/machine.h"
#include "berth/topology/refusal.h"

namespace berth::topology {

struct PickRules {
  enum class Caches { Ignored, Aligned };   ///< prefer-align-cpus-by-uncorecache
  enum class Cores { Packed, Distributed }; ///< distribute-cpus-across-cores
  Caches caches = Caches::Ignored;
  Cores cores = Cores::Packed;
};

/// `count` CPUs of `available`. Refused: there are not as many.
Granted<CpuSet> take_packed(const Machine& machine, const CpuSet& available, int count,
                            const PickRules& rules);

/// The same, evenly from as few NUMA nodes as it takes, in groups of `group_size` CPUs
/// (distribute-cpus-across-numa): the nodes that leave all nodes most equally filled. Packed where
/// that cannot be, and on machines of more than eight NUMA nodes.
Granted<CpuSet> take_distributed(const Machine& machine, const CpuSet& available, int count,
                                 int group_size, const PickRules& rules);

} // namespace berth::topology
