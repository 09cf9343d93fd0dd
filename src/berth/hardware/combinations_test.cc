#include "berth/hardware/combinations.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::hardware {
namespace {

std::vector<GpuMask> listed(GpuMask set, int k) {
  std::vector<GpuMask> result;
  for (const GpuMask subset : Combinations(set, k)) {
    result.push_back(subset);
  }
  return result;
}

TEST(Combinations, AreEverySubsetOfTheSizeInAscendingOrder) {
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    const auto set = static_cast<GpuMask>(rng.next() & 0x3ff);
    for (int k = -1; k <= 11; ++k) {
      std::vector<GpuMask> want;
      for (GpuMask subset = 0; subset <= set; ++subset) {
        if ((subset & ~set) == 0 && std::popcount(subset) == k) {
          want.push_back(subset);
        }
      }
      EXPECT_EQ(listed(set, k), want) << set << ' ' << k;
    }
  }
}

TEST(Combinations, OfNothingIsTheEmptySet) {
  EXPECT_THAT(listed(0, 0), ::testing::ElementsAre(0));
  EXPECT_THAT(listed(0b101, 0), ::testing::ElementsAre(0));
  EXPECT_THAT(listed(0, 1), ::testing::IsEmpty());
}

TEST(Combinations, ReachTheHighestBit) {
  EXPECT_THAT(listed(0xffffffff, 32), ::testing::ElementsAre(0xffffffff));
  EXPECT_EQ(listed(0xffffffff, 31).size(), 32U);
  EXPECT_EQ(listed(0x80000001, 1).back(), 0x80000000U);
}

} // namespace
} // namespace berth::hardware
