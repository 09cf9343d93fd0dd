// Nodes that answer alike: swapping two of them changes nothing for a group, so that what failed on
// one need not be tried on the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "berth/gang/member_class.h"

namespace berth::gang {

/// A value, made of the state before any member is placed. Cautious: what it cannot judge (volumes,
/// NUMA reports, rules about pods where there are pods) it calls different.
/// O(nodes * (classes + levels)).
class AlikeNodes {
 public:
  AlikeNodes(const sched::ClusterState& state, const SpreadLevels& levels,
             std::span<const sched::NodeId> nodes, std::span<const MemberClass> classes);

  /// Equal numbers: to each class the nodes look alike, and will once the same members are there.
  std::uint32_t kind(sched::NodeId node) const { return kinds_[node.index()]; }
  /// Equal numbers: as many nodes of each kind, in units of equal kinds below.
  std::uint32_t unit_kind(std::size_t level, std::uint32_t unit) const {
    return unit_kinds_[level][unit];
  }

 private:
  std::vector<std::uint32_t> kinds_;                   ///< by NodeId::index()
  std::vector<std::vector<std::uint32_t>> unit_kinds_; ///< by level, by unit
};

} // namespace berth::gang
