// One hint out of those of all resources: the kubelet's merge. It is defined over every combination
// of one hint a resource; what is computed are the masks that combinations can have, so that the
// number of combinations does not count.
//
// A combination's mask is what all its hints share (a hint without a mask shares everything); it is
// preferred if all its hints are preferred and have the same mask. Of the combinations with a node
// left, the best is
//   1. a preferred one before any other;
//   2. of preferred ones the narrowest; with prefer-closest-numa-nodes, of as many nodes the one
//      whose nodes are nearest to each other; then the numerically lower;
//   3. of others the one whose count is closest to B from below, then from above, then as in 2,
//      where B is the most nodes that any resource needs at least.
#pragma once

#include <vector>

#include "berth/topology/hint.h"
#include "berth/topology/machine.h"

namespace berth::topology {

struct MergeRules {
  enum class Nearness { Ignored, Counts };
  NumaMask all; ///< every node of the machine
  Nearness nearness = Nearness::Ignored;
};

/// One list for each resource. No combination with a node left: {all, not preferred}. O(r n 2^n)
/// for r resources whose hints name n <= 16 nodes; beyond that the distinct masks are combined one
/// by one.
Hint merge_hints(const std::vector<std::vector<Hint>>& lists, const MergeRules& rules,
                 const Machine& machine);

/// The lists to merge: a provider that says nothing, or a resource it does not care about, is any
/// node, preferred; one that cannot be met is any node, not preferred.
std::vector<std::vector<Hint>> lists_of(const std::vector<std::vector<ResourceHints>>& providers);

/// Whether `a` is the better of two masks of equal preference (rule 2).
bool fits_better(NumaMask a, NumaMask b, const MergeRules& rules, const Machine& machine);

} // namespace berth::topology
