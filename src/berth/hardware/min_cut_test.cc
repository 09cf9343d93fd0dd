#include "berth/hardware/min_cut.h"

#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::hardware {
namespace {

using Weights = std::vector<std::vector<std::int64_t>>;

/// Tries every way to part the vertices in two.
std::int64_t min_cut_by_enumeration(const Weights& w) {
  const std::size_t n = w.size();
  std::int64_t best = n < 2 ? 0 : INT64_MAX;
  for (std::size_t side = 1; n >= 2 && side < (std::size_t{1} << (n - 1)); ++side) {
    std::int64_t cut = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        cut += (side >> i & 1) != 0 && (side >> j & 1) == 0 ? w[i][j] : 0;
      }
    }
    best = std::min(best, cut);
  }
  return best;
}

TEST(MinCut, OfNothingAndOfOneIsZero) {
  EXPECT_EQ(min_cut({}), 0);
  EXPECT_EQ(min_cut({{0}}), 0);
}

TEST(MinCut, OfTwoIsTheirWeight) {
  EXPECT_EQ(min_cut({{0, 12}, {12, 0}}), 12);
}

TEST(MinCut, OfAGraphInPiecesIsZero) {
  EXPECT_EQ(min_cut({{0, 4, 0}, {4, 0, 0}, {0, 0, 0}}), 0);
}

TEST(MinCut, OfTheFourGpuMeshIsOneGpusLinks) {
  EXPECT_EQ(min_cut({{0, 4, 4, 4}, {4, 0, 4, 4}, {4, 4, 0, 4}, {4, 4, 4, 0}}), 12);
}

TEST(MinCut, AgreesWithEnumerationOnRandomGraphs) {
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    const auto n = static_cast<std::size_t>(rng.between(0, 9));
    Weights w(n, std::vector<std::int64_t>(n, 0));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        w[i][j] = w[j][i] = rng.chance(1, 2) ? rng.between(1, 6) : 0;
      }
    }
    EXPECT_EQ(min_cut(w), min_cut_by_enumeration(w)) << "round " << round;
  }
}

} // namespace
} // namespace berth::hardware
