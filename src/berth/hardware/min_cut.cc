#include "berth/hardware/min_cut.h"

#include <algorithm>
#include <numeric>

namespace berth::hardware {

namespace {

struct Phase {
  std::size_t before_last = 0;
  std::size_t last = 0;
  std::int64_t cut = 0; ///< weight that separates `last` from all others
};

/// Orders the vertices by how strongly they hang on those already taken.
Phase order_by_adhesion(const std::vector<std::vector<std::int64_t>>& weights,
                        std::vector<std::size_t> left) {
  Phase phase;
  std::vector<std::int64_t> adhesion(weights.size(), 0);
  while (!left.empty()) {
    const auto next =
        std::ranges::max_element(left, {}, [&](std::size_t v) { return adhesion[v]; });
    phase = {.before_last = phase.last, .last = *next, .cut = adhesion[*next]};
    left.erase(next);
    for (const auto v : left) {
      adhesion[v] += weights[phase.last][v];
    }
  }
  return phase;
}

} // namespace

std::int64_t min_cut(std::vector<std::vector<std::int64_t>> weights) {
  if (weights.size() < 2) {
    return 0;
  }
  std::vector<std::size_t> vertices(weights.size());
  std::iota(vertices.begin(), vertices.end(), std::size_t{0});
  std::int64_t best = INT64_MAX;
  while (vertices.size() > 1) {
    const auto phase = order_by_adhesion(weights, vertices);
    best = std::min(best, phase.cut);
    for (const auto v : vertices) {
      weights[phase.before_last][v] += weights[phase.last][v];
      weights[v][phase.before_last] = weights[phase.before_last][v];
    }
    std::erase(vertices, phase.last);
  }
  return best;
}

} // namespace berth::hardware
