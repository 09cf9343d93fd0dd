#include "berth/base/ranges.h"

#include <vector>

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(FormatRanges, JoinsNeighbours) {
  const auto ranges = [](std::vector<int> v) { return format_ranges(v); };
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({3}), "3");
  EXPECT_EQ(ranges({0, 1}), "0-1");
  EXPECT_EQ(ranges({0, 1, 4}), "0-1,4");
  EXPECT_EQ(ranges({0, 1, 2, 3, 6}), "0-3,6");
  EXPECT_EQ(ranges({0, 2, 4}), "0,2,4");
  EXPECT_EQ(ranges({1, 2, 5, 6, 7, 15}), "1-2,5-7,15");
}

} // namespace
} // namespace berth
