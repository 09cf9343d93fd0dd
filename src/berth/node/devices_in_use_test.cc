#include "berth/node/devices_in_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DevicesInUse, APodsContainersMayShareItsDevices) {
  DevicesInUse use;
  use.add("gpu 0", "p", std::nullopt);
  use.add("gpu 0", "p", std::nullopt);
  use.add("gpu 1", "q", std::nullopt);
  EXPECT_THAT(use.broken(), IsEmpty());
}

TEST(DevicesInUse, TwoPodsMayNot) {
  DevicesInUse use;
  use.add("gpu 0", "p", std::nullopt);
  use.add("gpu 0", "q", std::nullopt);
  EXPECT_THAT(use.broken(), ElementsAre("gpu 0 is used by pods p and q"));
}

TEST(DevicesInUse, PartsMayNotBeMoreThanTheDevice) {
  DevicesInUse use;
  use.add("gpu 0", "p", GpuPart{.milli = 600});
  use.add("gpu 0", "q", GpuPart{.milli = 400});
  EXPECT_THAT(use.broken(), IsEmpty());
  use.add("gpu 0", "r", GpuPart{.milli = 1});
  EXPECT_THAT(use.broken(), ElementsAre(HasSubstr("1001 thousandths together")));
  use.add("gpu 1", "p", GpuPart{.memory = 5, .gpu_memory = 8});
  use.add("gpu 1", "q", GpuPart{.memory = 4, .gpu_memory = 8});
  EXPECT_THAT(use.broken(), ElementsAre(HasSubstr("parts of gpu 0"), HasSubstr("parts of gpu 1")));
}

TEST(DevicesInUse, WholeAndInPartsMayNotMeet) {
  DevicesInUse use;
  use.add("gpu 0", "p", std::nullopt);
  use.add("gpu 0", "q", GpuPart{.milli = 1});
  EXPECT_THAT(use.broken(), ElementsAre("gpu 0 is used whole by pod p and in parts by q"));
}

} // namespace
} // namespace berth::node
