#include "berth/deviceplugin/preference.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"
#include "berth/hardware/choose.h"
#include "berth/inventory/simulated_inventory.h"

namespace berth::deviceplugin {
namespace {

using hardware::ChoicePolicy;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Preference : public ::testing::Test {
 protected:
  using Indices = std::vector<int>;

  std::vector<std::string> ids(const Indices& indices) const {
    std::vector<std::string> list;
    for (const int index : indices) {
      list.push_back(inventory_->gpus()[static_cast<std::size_t>(index)].uuid);
    }
    return list;
  }
  Result<Indices> prefer(const Indices& available, const Indices& must, int size,
                         ChoicePolicy policy = ChoicePolicy::Topology) const {
    BERTH_TRY(const auto chosen, preferred_gpus(*inventory_, policy,
                                                {.available = ids(available),
                                                 .must_include = ids(must),
                                                 .allocation_size = size}));
    Indices indices;
    for (const std::string& id : chosen) {
      const auto gpu = std::ranges::find(inventory_->gpus(), id, &inventory::GpuInfo::uuid);
      indices.push_back(gpu->index);
    }
    return indices;
  }
  void use(const char* platform) {
    inventory_ = std::make_unique<inventory::SimulatedInventory>(
        loop_, *hardware::Catalogue::builtin().find(platform), "n1");
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1)};
  std::unique_ptr<inventory::SimulatedInventory> inventory_ =
      std::make_unique<inventory::SimulatedInventory>(
          loop_, *hardware::Catalogue::builtin().find("dgx-h100"), "n1");
};

const std::vector<int> kAll{0, 1, 2, 3, 4, 5, 6, 7};

TEST_F(Preference, IsTheSchedulersChoice) {
  Rng rng(7);
  for (const char* platform : {"dgx-h100", "dgx-v100", "dgx-a100"}) {
    if (!hardware::Catalogue::builtin().find(platform)) {
      continue;
    }
    use(platform);
    for (int turn = 0; turn < 100; ++turn) {
      Indices available;
      Indices must;
      hardware::GpuMask free = 0;
      hardware::GpuMask required = 0;
      for (const int gpu : kAll) {
        if (rng.chance(2, 3)) {
          available.push_back(gpu);
          free |= hardware::GpuMask{1} << gpu;
          if (rng.chance(1, 4)) {
            must.push_back(gpu);
            required |= hardware::GpuMask{1} << gpu;
          }
        }
      }
      if (available.empty()) {
        continue;
      }
      const auto size = static_cast<int>(
          rng.between(std::max<std::int64_t>(1, static_cast<std::int64_t>(must.size())),
                      static_cast<std::int64_t>(available.size())));
      const ChoicePolicy policy = rng.chance(1, 3)   ? ChoicePolicy::Spread
                                  : rng.chance(1, 2) ? ChoicePolicy::Binpack
                                                     : ChoicePolicy::Topology;
      const auto want =
          hardware::choose_gpus(*inventory_->platform(), free, size, policy, required);
      ASSERT_TRUE(want);
      const auto got = prefer(available, must, size, policy);
      ASSERT_TRUE(got);
      hardware::GpuMask mask = 0;
      for (const int gpu : *got) {
        mask |= hardware::GpuMask{1} << gpu;
      }
      EXPECT_EQ(mask, *want) << platform << " turn " << turn;
      EXPECT_TRUE(std::ranges::is_sorted(*got));
    }
  }
}

TEST_F(Preference, StaysOnOneSocketWhereItCan) {
  const auto chosen = prefer({1, 2, 3, 4, 5, 6, 7}, {}, 4);
  ASSERT_TRUE(chosen);
  std::set<int> nodes;
  for (const int gpu : *chosen) {
    nodes.insert(inventory_->gpus()[static_cast<std::size_t>(gpu)].numa.value_or(-1));
  }
  EXPECT_THAT(nodes, SizeIs(1)) << ::testing::PrintToString(*chosen);
}

TEST_F(Preference, KeepsWhatMustBe) {
  const auto chosen = prefer(kAll, {6}, 2);
  ASSERT_TRUE(chosen);
  EXPECT_THAT(*chosen, ::testing::Contains(6));
  EXPECT_THAT(*chosen, SizeIs(2));
  // What must be counts as available.
  EXPECT_THAT(prefer({0}, {6}, 2).value(), ElementsAre(0, 6));
  EXPECT_THAT(prefer(kAll, {6}, 1).value(), ElementsAre(6));
}

TEST_F(Preference, ADeadGpuIsLeftOutWhereThatIsPossible) {
  ASSERT_TRUE(inventory_->lose(0));
  ASSERT_TRUE(inventory_->xid(1, 48));
  EXPECT_THAT(prefer({0, 1, 2, 3}, {}, 2).value(), ElementsAre(2, 3));
  EXPECT_THAT(prefer({0, 1, 2}, {}, 2).value(), SizeIs(2)) << "advice never fails for a dead GPU";
  EXPECT_THAT(prefer({0, 2}, {0}, 1).value(), ElementsAre(0));
}

TEST_F(Preference, WithoutTopologyTheLowestAreTaken) {
  inventory_ = std::make_unique<inventory::SimulatedInventory>(loop_, 20, "n1");
  EXPECT_THAT(prefer({3, 19, 7, 1}, {}, 2).value(), ElementsAre(1, 3));
  EXPECT_THAT(prefer({3, 19, 7, 1}, {19}, 2).value(), ElementsAre(1, 19));
  ASSERT_TRUE(inventory_->lose(1));
  EXPECT_THAT(prefer({3, 19, 7, 1}, {}, 2).value(), ElementsAre(3, 7));
}

TEST_F(Preference, NoneIsAsked) {
  EXPECT_THAT(prefer(kAll, {}, 0).value(), IsEmpty());
  EXPECT_THAT(prefer(kAll, {}, -1).value(), IsEmpty());
}

TEST_F(Preference, WhatCannotBeIsAnError) {
  const auto few = prefer({0, 1}, {}, 3);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, Code::Invalid);
  EXPECT_EQ(few.error().message,
            "invalid request: cannot choose devices: available 2, required 0, asked 3");
  const auto many = prefer({0, 1}, {0, 1}, 1);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "invalid request: cannot choose devices: available 2, required 2, asked 1");
  for (const PreferredAllocationRequest& request :
       {PreferredAllocationRequest{.available = {"GPU-x"}, .allocation_size = 1},
        PreferredAllocationRequest{
            .available = ids({0}), .must_include = {"GPU-x"}, .allocation_size = 1}}) {
    const auto unknown = preferred_gpus(*inventory_, ChoicePolicy::Topology, request);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message, "invalid request: unknown device: GPU-x");
  }
}

} // namespace
} // namespace berth::deviceplugin
