// Hints for a number of things out of a stock that lies on NUMA nodes: devices or CPUs. Rules of
// the kubelet's device manager and static CPU policy, which are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "berth/topology/hint.h"

namespace berth::topology {

/// Things on the same nodes, counted.
struct Stock {
  NumaMask nodes;            ///< one or more; a thing on two nodes is near to both
  std::int64_t all = 0;      ///< whoever has them, healthy or not
  std::int64_t free = 0;     ///< those that can be had
  std::int64_t reusable = 0; ///< those that the pod's init containers left, not counted in `free`
};

struct StockHints {
  std::vector<Hint> hints;
  int fewest_nodes = 0; ///< how many nodes it takes on an empty machine
};

/// Every set of the stock's nodes that touches all reusable things and has `request` free or
/// reusable ones; preferred if it has as few nodes as an empty machine would need. Up to 16 nodes
/// every set is looked at. With more, the sets of that fewest number if these are no more than
/// 1024, and for each size the nodes with the most to give.
StockHints stock_hints(const std::vector<Stock>& stocks, std::int64_t request);

/// The sets of `nodes` that are looked at, ascending: all of them up to 16 nodes; of more, those of
/// `fewest` nodes if not too many, and the first so many of `best_first`.
std::vector<NumaMask> candidate_sets(NumaMask nodes, int fewest,
                                     const std::vector<int>& best_first);

} // namespace berth::topology
