// Global minimum cut of a small undirected weighted graph (Stoer and Wagner, 1997).
#pragma once

#include <cstdint>
#include <vector>

namespace berth::hardware {

/// Smallest total weight between any two non-empty parts of the vertices; 0 for fewer than two
/// vertices or a graph that is not connected. `weights` is square and symmetric. O(n^3).
std::int64_t min_cut(std::vector<std::vector<std::int64_t>> weights);

} // namespace berth::hardware
