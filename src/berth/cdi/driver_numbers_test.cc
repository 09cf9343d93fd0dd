#include "berth/cdi/driver_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(DriverNumbers, MajorsAreThoseOfCharacterDevices) {
  EXPECT_THAT(parse_proc_devices("Character devices:\n  1 mem\n195 nvidia\n508 nvidia-caps\n"
                                 "510 nvidia-uvm\n\nBlock devices:\n  8 sd\n510 nvidia-uvm-not\n"),
              ElementsAre(Pair("mem", 1), Pair("nvidia", 195), Pair("nvidia-caps", 508),
                          Pair("nvidia-uvm", 510)));
}

TEST(DriverNumbers, AnythingElseIsLeftOut) {
  EXPECT_TRUE(parse_proc_devices("").empty());
  EXPECT_TRUE(parse_proc_devices("195 nvidia\n").empty()) << "no heading";
  EXPECT_THAT(parse_proc_devices("Character devices:\nx y\n-4 neg\n7\n9 nine\r\n"),
              ElementsAre(Pair("nine", 9)));
}

TEST(DriverNumbers, MinorsOfCapabilitiesAreFoundByGpuAndInstances) {
  const MigMinors minors =
      MigMinors::parse("config 1\nmonitor 2\ngpu0/gi1/access 12\n"
                       "gpu0/gi1/ci0/access 13\nnonsense\ngpu3/gi1/access x\n");
  EXPECT_EQ(minors.gpu_instance(0, 1), 12);
  EXPECT_EQ(minors.compute_instance(0, 1, 0), 13);
  EXPECT_FALSE(minors.compute_instance(0, 1, 1));
  EXPECT_FALSE(minors.gpu_instance(3, 1));
  EXPECT_EQ(capability_path(13), "/dev/nvidia-caps/nvidia-cap13");
  EXPECT_TRUE(MigMinors::parse("").empty());
}

TEST(DriverNumbers, TheUsualOnesAreThoseThatDriversHandOut) {
  const MigMinors minors = MigMinors::usual(8);
  EXPECT_EQ(minors.gpu_instance(0, 0), 3);
  EXPECT_EQ(minors.compute_instance(0, 0, 0), 4);
  EXPECT_EQ(minors.gpu_instance(0, 1), 12);
  EXPECT_EQ(minors.gpu_instance(1, 0), 138);
  EXPECT_FALSE(minors.gpu_instance(8, 0));
}

} // namespace
} // namespace berth::cdi
