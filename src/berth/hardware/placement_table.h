// What choosing GPUs looks up, for every set of a platform's GPUs: made once with the platform,
// immutable after, so that a choice costs microseconds and needs neither locks nor globals. 2^n
// entries of 20 bytes: 5 KiB for 8 GPUs, 1.3 MiB for 16.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/hardware/choose.h"
#include "berth/hardware/collective_model.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {

class PlacementTable {
 public:
  /// `platform` satisfies its invariants; nothing of it is kept. O(2^n n^2), for 16 GPUs below a
  /// second.
  explicit PlacementTable(const Platform& platform);

  GpuMask all() const { return all_; }
  std::int64_t all_reduce(GpuMask gpus) const { return entries_[gpus & all_].all_reduce; }
  /// What the rails of `gpus` carry to other nodes (rails_mbps).
  std::int64_t rails(GpuMask gpus) const { return rails_mbps(rail_groups_, pcie_mbps_, gpus); }
  /// What `gpus` are worth as the rest of a node: the higher the better for those who come later.
  /// For each group size 16, 8, 4, 2 in this order: cut the rest into as many disjoint groups as it
  /// has room for, so that the sum of their predicted all-reduce is largest and then the groups are
  /// most compact. Comparable among sets of equal size.
  std::uint32_t worth(GpuMask gpus) const { return entries_[gpus & all_].worth; }
  /// The same, comparable between machines: the whole groups `gpus` still offer, in thousandths of
  /// a GPU. Sum over the group sizes of size x (all-reduce of that cut / best all-reduce of a group
  /// of the size on the idle machine).
  std::uint32_t room(GpuMask gpus) const { return entries_[gpus & all_].room; }
  /// The lower the closer: sum of the GPUs' distances to their nearest NIC, then sockets, NUMA
  /// nodes, outermost and innermost PCIe switches.
  std::uint32_t closeness(GpuMask gpus) const { return entries_[gpus & all_].closeness; }
  /// The higher the wider: NUMA nodes, then sockets, then outermost, then innermost PCIe switches.
  std::uint32_t spread(GpuMask gpus) const { return entries_[gpus & all_].spread; }

 private:
  struct Entry {
    std::int32_t all_reduce = 0;
    std::uint32_t worth = 0;
    std::uint32_t room = 0;
    std::uint32_t closeness = 0;
    std::uint32_t spread = 0;
  };

  /// `best`: best sums of group values for groups of `size`, by set.
  void add_room(const std::vector<std::int64_t>& best, int size);
  /// `group_value`: of each set as one group.
  void rank_worth(const std::vector<std::int64_t>& group_value);

  GpuMask all_ = 0;
  std::vector<RailGroup> rail_groups_;
  std::int64_t pcie_mbps_ = 0;
  std::vector<Entry> entries_;
};

} // namespace berth::hardware
