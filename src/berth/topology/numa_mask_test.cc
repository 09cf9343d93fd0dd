#include "berth/topology/numa_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NumaMask, HoldsNodesAndNothingElse) {
  const NumaMask mask = NumaMask::of({3, 0, 63, 64, -1});
  EXPECT_THAT(mask.ids(), ElementsAre(0, 3, 63));
  EXPECT_EQ(mask.count(), 3);
  EXPECT_TRUE(mask.has(63));
  EXPECT_FALSE(mask.has(1));
  EXPECT_FALSE(mask.has(64));
  EXPECT_FALSE(mask.has(-1));
  EXPECT_THAT(NumaMask().ids(), IsEmpty());
  EXPECT_TRUE(NumaMask().empty());
}

TEST(NumaMask, ASetIsNarrowerByCountThenByNumber) {
  EXPECT_TRUE(NumaMask::of({5}).narrower_than(NumaMask::of({0, 1})));
  EXPECT_TRUE(NumaMask::of({0, 1}).narrower_than(NumaMask::of({0, 2})));
  EXPECT_FALSE(NumaMask::of({0, 1}).narrower_than(NumaMask::of({0, 1})));
}

TEST(NumaMask, SetsMeetAndContain) {
  const NumaMask some = NumaMask::of({0, 1, 2});
  EXPECT_TRUE(some.contains(NumaMask::of({1})));
  EXPECT_TRUE(some.contains(NumaMask()));
  EXPECT_FALSE(some.contains(NumaMask::of({2, 3})));
  EXPECT_TRUE(some.meets(NumaMask::of({2, 3})));
  EXPECT_FALSE(some.meets(NumaMask::of({3})));
  EXPECT_EQ(some & NumaMask::of({2, 3}), NumaMask::of({2}));
  EXPECT_EQ(some | NumaMask::of({3}), NumaMask::of({0, 1, 2, 3}));
}

TEST(NumaMask, IsWrittenAsLinuxWritesIt) {
  EXPECT_EQ(NumaMask::of({0, 1, 2, 5}).to_string(), "0-2,5");
  EXPECT_EQ(NumaMask().to_string(), "");
}

} // namespace
} // namespace berth::topology
