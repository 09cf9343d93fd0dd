#include "berth/hardware/gpu_mask.h"

#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::hardware {
namespace {

TEST(GpuIndices, RoundTrip) {
  Rng rng(1);
  for (int round = 0; round < 1000; ++round) {
    const auto mask = static_cast<GpuMask>(rng.next());
    EXPECT_EQ(parse_gpu_indices(format_gpu_indices(mask)), mask);
  }
  EXPECT_EQ(format_gpu_indices(0), "");
  EXPECT_EQ(parse_gpu_indices(""), GpuMask{0});
  EXPECT_EQ(format_gpu_indices(0b10011), "0,1,4");
  EXPECT_EQ(parse_gpu_indices("31"), GpuMask{1} << 31);
  EXPECT_EQ(parse_gpu_indices("4,0,1"), GpuMask{0b10011}) << "any order";
}

TEST(GpuIndices, RefusesAnythingElse) {
  for (const auto* text : {"32", "-1", "a", "0,", ",0", "0,,1", "0, 1", " 0", "0 ", "0-3", "1,1",
                           "01", "4294967296", "+1", "0;1"}) {
    EXPECT_EQ(parse_gpu_indices(text), std::nullopt) << '"' << text << '"';
  }
}

} // namespace
} // namespace berth::hardware
