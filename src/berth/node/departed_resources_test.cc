// Resources of plugins that are gone, in the Node's status, on whole simulated machines: nothing is
// there at once, and after the grace the keys are gone, whatever the agent went through meanwhile.
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/model/gpu_slices.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kMig = "nvidia.com/mig-1g.10gb";

class DepartedResources : public ::testing::Test, protected test::MachineWorld {
 protected:
  DepartedResources() : MachineWorld(1, "hgx-a100-4") { set_log_level(LogLevel::Off); }
  ~DepartedResources() override { set_log_level(LogLevel::Warn); }

  void boot(MachineOptions options) {
    machine.reset();
    options.name = "n1";
    options.platform = hardware::Catalogue::builtin().find("hgx-a100-4");
    machine = std::make_unique<SimulatedMachine>(plane.loop, line, std::move(options));
    machine->power_on();
    run(Duration::seconds(5));
  }
  void boot_with_mig() {
    MachineOptions options;
    options.plugin_config.flags.mig_strategy = inventory::MigStrategy::Mixed;
    boot(std::move(options));
    ASSERT_TRUE(machine->inventory().cut(1, "1g.10gb=2"));
    run(Duration::seconds(30));
    ASSERT_EQ(allocatable(kMig), "2");
  }
  void restart_agent() {
    machine->crash_agent();
    machine->start_agent();
  }
  void advertise(std::string_view resource, std::string_view amount) {
    const json::object list{{resource, amount}};
    plane.client.patch(
        client::kNodes, {"", "n1"},
        json::object{{"status", json::object{{"capacity", list}, {"allocatable", list}}}},
        client::Subresource::Status,
        [](const Result<api::Object>& result) { ASSERT_TRUE(result); });
    run(Duration::seconds(20));
  }
  std::string annotated() const {
    const auto& annotations = node().meta().annotations;
    const auto it = annotations.find(model::kPluginResourcesAnnotation);
    return it == annotations.end() ? "" : it->second;
  }
};

TEST_F(DepartedResources, AreUnavailableAtOnceAndGoneAfterTheGrace) {
  machine->crash_plugin();
  run(Duration::minutes(4));
  EXPECT_EQ(capacity(kGpu), "4");
  EXPECT_EQ(allocatable(kGpu), "0");
  run(Duration::minutes(2));
  EXPECT_EQ(capacity(kGpu), "absent");
  EXPECT_EQ(allocatable(kGpu), "absent");
  EXPECT_EQ(capacity("cpu"), "256") << "only they";
  restart_agent();
  run(Duration::minutes(10));
  EXPECT_EQ(capacity(kGpu), "absent");
  machine->start_plugin();
  run(Duration::seconds(1));
  EXPECT_EQ(capacity(kGpu), "4");
  EXPECT_EQ(allocatable(kGpu), "4");
}

TEST_F(DepartedResources, OfAnotherCutAreGoneToo) {
  boot_with_mig();
  EXPECT_EQ(annotated(), kMig);
  ASSERT_TRUE(machine->inventory().uncut(1));
  run(Duration::seconds(30));
  EXPECT_EQ(allocatable(kMig), "0");
  run(Duration::minutes(10));
  EXPECT_EQ(capacity(kMig), "absent");
  EXPECT_EQ(allocatable(kMig), "absent");
  EXPECT_EQ(annotated(), "") << "nobody's from now on";
  EXPECT_EQ(capacity(kGpu), "4");
}

TEST_F(DepartedResources, AreTakenOutByTheNextAgentIfThisOneDies) {
  boot_with_mig();
  machine->crash_plugin();
  run(Duration::minutes(1));
  line.disconnect();
  run(Duration::minutes(10)); // the grace ends where nobody hears of it
  machine->crash_agent();
  line.reconnect();
  EXPECT_EQ(capacity(kMig), "2");
  machine->start_agent();
  run(Duration::seconds(30));
  EXPECT_EQ(capacity(kMig), "absent");
  EXPECT_EQ(capacity(kGpu), "absent");
}

TEST_F(DepartedResources, AreKnownWithoutACheckpoint) {
  boot_with_mig();
  machine->crash_plugin();
  machine->crash_agent();
  machine->disk() = MemoryCheckpointStore();
  machine->start_agent();
  run(Duration::seconds(20));
  EXPECT_EQ(allocatable(kMig), "0") << "unavailable at once";
  EXPECT_EQ(allocatable(kGpu), "0");
  run(Duration::minutes(6));
  EXPECT_EQ(capacity(kMig), "absent");
  EXPECT_EQ(capacity(kGpu), "absent");
  EXPECT_EQ(annotated(), "");
}

TEST_F(DepartedResources, WhatSomebodyAdvertisedByHandStays) {
  boot_with_mig();
  advertise("example.com/fpga", "5");
  machine->crash_plugin();
  run(Duration::minutes(10));
  restart_agent();
  run(Duration::minutes(10));
  EXPECT_EQ(capacity(kMig), "absent");
  EXPECT_EQ(capacity("example.com/fpga"), "5");
  EXPECT_EQ(allocatable("example.com/fpga"), "5");
  // The same name, from a hand this time.
  advertise(kMig, "3");
  run(Duration::minutes(10));
  restart_agent();
  run(Duration::minutes(10));
  EXPECT_EQ(capacity(kMig), "3");
  EXPECT_EQ(allocatable(kMig), "3");
}

TEST_F(DepartedResources, ThatPodsHoldAreStillTheirsWhenThePluginIsBack) {
  plane.create(bound("a").gpus(3).run_for("24h"));
  run(Duration::seconds(10));
  const auto before = held_by("a");
  ASSERT_THAT(before, SizeIs(3));
  machine->crash_plugin();
  run(Duration::minutes(10));
  EXPECT_EQ(capacity(kGpu), "absent");
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(held_by("a"), before);
  restart_agent();
  run(Duration::minutes(1));
  EXPECT_EQ(phase("a"), "Running");
  machine->start_plugin();
  run(Duration::seconds(10));
  EXPECT_EQ(capacity(kGpu), "4");
  plane.create(bound("b").gpus(1));
  plane.create(bound("c").gpus(1));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("b"), "Running");
  EXPECT_EQ(status("c", "reason"), "OutOfnvidia.com/gpu");
  EXPECT_EQ(held_by("a"), before);
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
}

TEST_F(DepartedResources, StayAtZeroWhereTheAgentIsToBeAKubelet) {
  MachineOptions options;
  options.patience = Patience::None;
  boot(std::move(options));
  machine->crash_plugin();
  run(Duration::minutes(10));
  EXPECT_EQ(capacity(kGpu), "0");
  EXPECT_EQ(allocatable(kGpu), "0");
  restart_agent();
  run(Duration::minutes(10));
  EXPECT_EQ(capacity(kGpu), "0") << "the key stays";
  machine->start_plugin();
  run(Duration::seconds(5));
  EXPECT_EQ(capacity(kGpu), "4");
}

} // namespace
} // namespace berth::node
