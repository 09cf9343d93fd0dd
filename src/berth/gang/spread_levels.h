// Where every node is, level by level: what the spread of a placement is counted in. A unit of a
// level is a domain of the topology tree; a node without the level's label is near nobody and so a
// unit of its own, unless a narrower level says with whom it is. Where the tree ends early its last
// domain stands for the levels below.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/gang/topology_tree.h"

namespace berth::gang {

/// A value. O(nodes * levels) to make.
class SpreadLevels {
 public:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  /// `required_key`: a label of the tree whose domains become the first level; "" for none. Nodes
  /// outside of them are nowhere in it.
  SpreadLevels(const TopologyTree& tree, std::size_t node_slots, std::string_view required_key);

  /// From the widest to the narrowest; 0 where no node carries a topology label.
  std::size_t depth() const { return unit_of_.size(); }
  /// Is the first one a required one?
  bool confined() const { return confined_; }
  /// Units of a level are numbered from 0.
  std::size_t units(std::size_t level) const { return units_[level]; }
  std::uint32_t unit(std::size_t level, sched::NodeId node) const {
    return unit_of_[level][node.index()];
  }

 private:
  void number(std::vector<std::uint32_t> names);

  bool confined_ = false;
  std::vector<std::vector<std::uint32_t>> unit_of_; ///< by level, by NodeId::index()
  std::vector<std::size_t> units_;                  ///< by level
};

} // namespace berth::gang
