// Members of one shape over the domains of a topology tree. Such members only need counting: how
// many fit on each node says how many fit anywhere, so the least spread is found exactly.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "berth/gang/topology_tree.h"

namespace berth::gang {

/// Units a placement uses at each level, from the widest (spread_levels.h); less is better, the
/// widest level first.
using Spread = std::array<std::uint32_t, kMostLevels>;

/// Some members in one place.
struct Share {
  std::vector<sched::NodeId> nodes; ///< sorted
  std::int64_t members = 0;

  bool operator==(const Share&) const = default;
};

/// Which counts of units hold how many members, for every domain. Made once for a decision: a
/// domain keeps only the counts that hold more than any better one, so that some hundred racks cost
/// some thousand steps. The tree must outlive it.
class RoomByDomain {
 public:
  /// `by_node`: members that fit, by NodeId::index(). At most `most` members will be asked for.
  /// Units that hold nodes of `placed_on` are used anyway and cost nothing.
  RoomByDomain(const TopologyTree& tree, std::vector<std::int64_t> by_node,
               std::span<const sched::NodeId> placed_on, std::int64_t most);

  std::int64_t capacity(std::size_t domain) const { return capacity_[domain]; }
  /// The least there is. Precondition: 0 < members <= capacity(domain), members <= most.
  Spread spread(std::size_t domain, std::int64_t members) const;
  /// Divides the members with that spread, in tree order. Of divisions that spread alike: the
  /// largest parts are filled first, and what is left goes into the part that it fills best.
  std::vector<Share> share_out(std::size_t domain, std::int64_t members) const;

 private:
  /// `room` members fit at this spread, and no better spread holds as many.
  struct Point {
    Spread spread{};
    std::int64_t room = 0;
    std::size_t before = 0; ///< index in the stage before: what the parts so far hold
    std::size_t taken = 0;  ///< of this stage's part: 0 nothing, else its point + 1, or leaves
  };
  /// The parts of a domain are added one after the other; alike leaves together, the largest first.
  struct Stage {
    std::vector<std::size_t> parts; ///< one domain; or leaves; or, in a loose leaf, nodes
    bool leaves = false;
    std::vector<Point> points; ///< ascending, of all parts so far
  };
  struct Part {
    std::size_t index = 0; ///< of a domain; in a loose leaf of a node
    std::int64_t room = 0;
  };

  bool is_used(sched::NodeId node) const;
  bool is_used(const Domain& domain) const;
  void measure(std::size_t domain);
  void add_leaves(std::size_t domain, std::vector<std::size_t> leaves);
  void add_part(std::size_t domain, std::size_t part);
  void add_stage(std::size_t domain, Stage stage, std::span<const Point> choices);
  Spread unit_below(std::size_t depth) const;
  std::vector<Part> parts_of(std::size_t domain, std::int64_t members) const;
  Part best_fit(std::size_t domain, const std::vector<Part>& taken, const Part& instead,
                std::int64_t members) const;
  const Point& point(std::size_t domain, std::int64_t members) const;
  void divide(std::size_t domain, std::int64_t members,
              std::vector<std::pair<std::size_t, Share>>& into) const;

  const TopologyTree* tree_;
  std::vector<std::int64_t> by_node_;
  std::vector<sched::NodeId> placed_on_; ///< sorted
  std::int64_t most_ = 0;
  std::size_t depth_ = 0;
  std::vector<std::int64_t> capacity_;        ///< by domain
  std::vector<std::vector<Stage>> stages_;    ///< by domain
  std::vector<std::vector<Point>> frontiers_; ///< by domain: its last stage, itself counted
};

} // namespace berth::gang
