// What the table adds to choosing, which choose_test.cc covers: the room a machine still offers.
#include "berth/hardware/placement_table.h"

#include <bit>

#include <gtest/gtest.h>

#include "berth/hardware/bandwidth.h"
#include "berth/testing/synthetic_platforms.h"

namespace berth::hardware {
namespace {

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

TEST(Room, OnASwitchCountsWholeGroups) {
  const auto& table = *builtin("dgx-h100").table;
  EXPECT_EQ(table.room(0xff), (8 + 8 + 8) * 1000U);
  EXPECT_EQ(table.room(0x7f), (4 + 6) * 1000U);
  EXPECT_EQ(table.room(0x0f), (4 + 4) * 1000U);
  EXPECT_EQ(table.room(0x07), 2000U);
  EXPECT_EQ(table.room(0x01), 0U);
  EXPECT_EQ(table.room(0), 0U);
}

TEST(Room, CountsAGroupAcrossSocketsForLess) {
  const auto& table = *builtin("l40s-pcie-8").table;
  EXPECT_EQ(table.room(0b0000'1111), 8000U);
  EXPECT_EQ(table.room(0b0011'0011), 4000U * 16 / 24 + 4000);
  EXPECT_EQ(table.room(0b0001'0001), 2000U * 16 / 24);
}

TEST(Room, NeverGrowsByTakingAGpu) {
  for (const auto& name : Catalogue::builtin().names()) {
    const auto& p = builtin(name);
    for (GpuMask gpus = 0; gpus <= p.table->all(); ++gpus) {
      for (GpuMask rest = gpus; rest != 0; rest &= rest - 1) {
        EXPECT_LE(p.table->room(gpus & ~(rest & -rest)), p.table->room(gpus))
            << name << ' ' << gpus;
      }
    }
  }
}

TEST(Table, IgnoresGpusTheMachineDoesNotHave) {
  const auto& p = builtin("t4-pcie-1");
  EXPECT_EQ(p.table->all(), 1U);
  EXPECT_EQ(p.table->closeness(0xff), p.table->closeness(1));
  EXPECT_EQ(p.table->worth(0xff), p.table->worth(1));
}

TEST(Closeness, PrefersTheGpuBesideTheNic) {
  const auto p = berth::test::SyntheticPlatform(4, 1, 2).nic_beside(2, 100).finish();
  EXPECT_LT(p.table->closeness(0b0100), p.table->closeness(0b1000)) << "same switch, other bridge";
  EXPECT_LT(p.table->closeness(0b1000), p.table->closeness(0b0001)) << "other socket";
}

} // namespace
} // namespace berth::hardware
