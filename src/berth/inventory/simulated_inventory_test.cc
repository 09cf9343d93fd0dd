#include "berth/inventory/simulated_inventory.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"
#include "berth/hardware/platform.h"
#include "berth/inventory/xid.h"

namespace berth::inventory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Platforms : public ::testing::TestWithParam<std::string> {};

TEST_P(Platforms, GiveTheInventoryItsGpus) {
  VirtualLoop loop(TimePoint::from_unix_seconds(1));
  const hardware::Platform& platform = *hardware::Catalogue::builtin().find(GetParam());
  const SimulatedInventory inventory(loop, platform, "n1");
  EXPECT_EQ(inventory.platform(), &platform);
  ASSERT_EQ(inventory.gpus().size(), platform.gpus.size());
  std::set<std::string> uuids;
  for (std::size_t i = 0; i < platform.gpus.size(); ++i) {
    const GpuInfo& gpu = inventory.gpus()[i];
    EXPECT_EQ(gpu.index, static_cast<int>(i));
    EXPECT_EQ(gpu.minor, static_cast<int>(i));
    EXPECT_EQ(gpu.uuid, hardware::gpu_uuid("n1", gpu.index));
    EXPECT_TRUE(uuids.insert(gpu.uuid).second) << gpu.uuid;
    EXPECT_EQ(gpu.pci_bus_id, platform.gpus[i].pci_bus_id);
    EXPECT_EQ(gpu.numa, platform.gpus[i].numa);
    EXPECT_EQ(gpu.memory_mib, platform.gpu_model.memory_mib);
    EXPECT_EQ(gpu.product, platform.gpu_model.product);
    EXPECT_TRUE(inventory.probe(gpu.index).usable());
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Platforms,
                         ::testing::ValuesIn(hardware::Catalogue::builtin().names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

class Faults : public ::testing::Test {
 protected:
  std::unique_ptr<Subscription> listen(std::vector<std::string>& heard) {
    return inventory_.subscribe([&heard](const HealthEvent& event) {
      const char* const kinds[] = {"xid", "lost", "recovered", "fabric", "mig"};
      heard.push_back(
          fmt::format("{} {} {}", kinds[static_cast<int>(event.kind)], event.gpu, event.xid));
    });
  }
  void run() { loop_.run_until(loop_.now() + Duration::seconds(1)); }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1)};
  SimulatedInventory inventory_{loop_, 4, "n1"};
};

TEST_F(Faults, AMachineNobodyKnowsHasGpusWithoutTopology) {
  EXPECT_EQ(inventory_.platform(), nullptr);
  ASSERT_THAT(inventory_.gpus(), SizeIs(4));
  EXPECT_FALSE(inventory_.gpus()[0].numa);
  EXPECT_EQ(inventory_.gpus()[3].pci_bus_id, "00000000:04:00.0");
}

TEST_F(Faults, UuidsAreOfTheNode) {
  const SimulatedInventory again(loop_, 4, "n1");
  const SimulatedInventory other(loop_, 4, "n2");
  EXPECT_EQ(again.gpus()[2].uuid, inventory_.gpus()[2].uuid);
  EXPECT_NE(other.gpus()[2].uuid, inventory_.gpus()[2].uuid);
}

TEST_F(Faults, ThereIsNoOtherGpu) {
  for (const int gpu : {-1, 4}) {
    EXPECT_FALSE(inventory_.probe(gpu).usable());
    for (const auto& result :
         {inventory_.xid(gpu, 48), inventory_.lose(gpu), inventory_.repair(gpu)}) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, Code::NotFound);
      EXPECT_EQ(result.error().message,
                fmt::format("no such gpu: the machine has 4, index asked {}", gpu));
    }
  }
}

TEST_F(Faults, AnXidActsByItsClass) {
  ASSERT_TRUE(inventory_.xid(0, 13));
  EXPECT_TRUE(inventory_.probe(0).usable());
  ASSERT_TRUE(inventory_.xid(1, 48));
  EXPECT_EQ(inventory_.probe(1), (GpuProbe{true, RecoveryAction::GpuReset, 48}));
  ASSERT_TRUE(inventory_.xid(2, 79));
  EXPECT_EQ(inventory_.probe(2), (GpuProbe{true, RecoveryAction::NodeReboot, 79}));
  EXPECT_TRUE(inventory_.probe(3).usable());
}

TEST_F(Faults, AMilderErrorDoesNotCoverAWorseOne) {
  ASSERT_TRUE(inventory_.xid(0, 79));
  ASSERT_TRUE(inventory_.xid(0, 48));
  ASSERT_TRUE(inventory_.xid(0, 13));
  EXPECT_EQ(inventory_.probe(0), (GpuProbe{true, RecoveryAction::NodeReboot, 79}));
}

TEST_F(Faults, EventsFollowInOrderToWhoeverListens) {
  std::vector<std::string> one;
  std::vector<std::string> two;
  const auto first = listen(one);
  auto second = listen(two);
  ASSERT_TRUE(inventory_.xid(1, 13));
  ASSERT_TRUE(inventory_.lose(2));
  EXPECT_FALSE(inventory_.probe(2).usable()) << "at once";
  EXPECT_THAT(one, IsEmpty()) << "later";
  run();
  ASSERT_TRUE(inventory_.repair(2));
  EXPECT_TRUE(inventory_.probe(2).usable());
  second.reset();
  run();
  EXPECT_THAT(one, ElementsAre("xid 1 13", "lost 2 79", "recovered 2 0"));
  EXPECT_THAT(two, ElementsAre("xid 1 13", "lost 2 79"));
}

TEST_F(Faults, AListenerMayLeaveFromWithin) {
  int heard = 0;
  std::unique_ptr<Subscription> own;
  own = inventory_.subscribe([&](const HealthEvent&) {
    ++heard;
    own.reset();
  });
  ASSERT_TRUE(inventory_.xid(0, 13));
  ASSERT_TRUE(inventory_.xid(0, 13));
  run();
  EXPECT_EQ(heard, 1);
}

TEST_F(Faults, ARebootRepairsWhatIsThere) {
  ASSERT_TRUE(inventory_.xid(0, 48));
  ASSERT_TRUE(inventory_.xid(1, 79));
  ASSERT_TRUE(inventory_.lose(2));
  inventory_.reboot();
  EXPECT_TRUE(inventory_.probe(0).usable());
  EXPECT_TRUE(inventory_.probe(1).usable());
  EXPECT_FALSE(inventory_.probe(2).usable());
  ASSERT_TRUE(inventory_.repair(2));
  EXPECT_TRUE(inventory_.probe(2).usable());
}

TEST_F(Faults, IllnessIsSaidInWords) {
  EXPECT_EQ(illness({}), "");
  EXPECT_EQ(illness({.present = false}), "lost");
  EXPECT_EQ(illness({.action = RecoveryAction::GpuReset}), "needs a reset");
  EXPECT_EQ(illness({.action = RecoveryAction::NodeReboot}), "needs a reboot");
  EXPECT_EQ(illness({.action = RecoveryAction::GpuReset, .last_xid = 48}),
            "Xid 48 (double bit ECC error)");
  EXPECT_EQ(illness({.fabric = FabricState::NotStarted}), "its NVLink fabric is not started");
}

class Cuts : public ::testing::Test {
 protected:
  const std::vector<MigDevice>& mig(int gpu) {
    facts_ = inventory_.survey();
    return facts_.gpus[static_cast<std::size_t>(gpu)].mig;
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1)};
  SimulatedInventory inventory_{loop_, *hardware::Catalogue::builtin().find("dgx-a100"), "n1"};
  NodeFacts facts_;
};

TEST_F(Cuts, InstancesLieWhereADriverWouldPutThem) {
  ASSERT_TRUE(inventory_.cut(0, "1g.10gb=2,3g.40gb=1"));
  const std::vector<MigDevice> devices = mig(0);
  ASSERT_THAT(devices, SizeIs(3));
  std::set<int> slices;
  for (const MigDevice& device : devices) {
    for (int i = 0; i < device.size; ++i) {
      EXPECT_TRUE(slices.insert(device.start + i).second) << "they do not overlap";
    }
  }
  EXPECT_TRUE(facts_.gpus[0].mig_enabled);
  EXPECT_FALSE(facts_.gpus[1].mig_enabled);
}

TEST_F(Cuts, AnotherCutGivesOtherUuids) {
  ASSERT_TRUE(inventory_.cut(0, "1g.10gb=1"));
  const std::string before = mig(0)[0].uuid;
  ASSERT_TRUE(inventory_.cut(0, "1g.10gb=1"));
  EXPECT_NE(mig(0)[0].uuid, before);
}

TEST_F(Cuts, WhatDoesNotFitChangesNothing) {
  ASSERT_TRUE(inventory_.cut(0, "1g.10gb=1"));
  EXPECT_EQ(inventory_.cut(0, "7g.80gb=2").error().code, Code::Invalid);
  EXPECT_EQ(inventory_.cut(0, "9g.80gb=2").error().code, Code::Invalid);
  EXPECT_EQ(inventory_.cut(8, "1g.10gb=1").error().code, Code::NotFound);
  EXPECT_THAT(mig(0), SizeIs(1));
  SimulatedInventory t4(loop_, *hardware::Catalogue::builtin().find("t4-pcie-1"), "n1");
  EXPECT_EQ(t4.cut(0, "").error().code, Code::Invalid);
}

TEST_F(Cuts, ARebootLosesInstancesAndOnAmpereKeepsTheMode) {
  ASSERT_TRUE(inventory_.cut(0, "1g.10gb=1"));
  inventory_.reboot();
  EXPECT_THAT(mig(0), IsEmpty());
  EXPECT_TRUE(facts_.gpus[0].mig_enabled);
  SimulatedInventory hopper(loop_, *hardware::Catalogue::builtin().find("dgx-h100"), "n1");
  ASSERT_TRUE(hopper.cut(0, "1g.10gb=1"));
  hopper.reboot();
  EXPECT_FALSE(hopper.survey().gpus[0].mig_enabled);
}

} // namespace
} // namespace berth::inventory
