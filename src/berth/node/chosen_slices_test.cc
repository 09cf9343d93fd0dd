// Replicas and MIG devices by GPU, on whole simulated machines.
#include "berth/node/chosen_slices.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using test::MachineWorld;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kShared = "nvidia.com/gpu.shared";

deviceplugin::Config shared_config(bool renamed) {
  deviceplugin::Config config = usual_plugin_config();
  deviceplugin::SharedResources shared;
  shared.rename_by_default = renamed;
  deviceplugin::SharedResource resource;
  resource.name = kGpu;
  resource.replicas = 4;
  if (renamed) {
    resource.rename = kShared;
  }
  shared.resources.push_back(resource);
  config.sharing.time_slicing = shared;
  return config;
}

/// A machine of four A100 whose plugin is configured so.
class SlicedMachine : public ::testing::Test, protected MachineWorld {
 protected:
  SlicedMachine() : MachineWorld(1, "hgx-a100-4") { set_log_level(LogLevel::Off); }
  ~SlicedMachine() override { set_log_level(LogLevel::Warn); }

  void boot(const deviceplugin::Config& config) {
    machine.reset();
    machine = std::make_unique<SimulatedMachine>(
        plane.loop, line,
        MachineOptions{.name = "n1",
                       .platform = hardware::Catalogue::builtin().find("hgx-a100-4"),
                       .plugin_config = config,
                       .seed = 2});
    machine->power_on();
    run(Duration::seconds(5));
  }
  std::string told() const {
    const auto& annotations = node().meta().annotations;
    const auto it = annotations.find(model::kGpuDevicesAnnotation);
    return it == annotations.end() ? "" : it->second;
  }
  std::string sick() const {
    const auto& annotations = node().meta().annotations;
    const auto it = annotations.find(model::kUnhealthyGpusAnnotation);
    return it == annotations.end() ? "" : it->second;
  }
  static test::PodBuilder asks(std::string_view name, std::string_view resource, int count,
                               std::string_view chosen = "") {
    test::PodBuilder builder = bound(name);
    builder.extended(resource, std::to_string(count));
    if (!chosen.empty()) {
      builder.annotation(model::kGpuSlicesAnnotation, chosen);
    }
    return builder;
  }
};

TEST_F(SlicedMachine, WholeGpusAreNotTold) {
  EXPECT_EQ(told(), "");
}

TEST_F(SlicedMachine, ReplicasAreToldByGpuUnderTheirOwnName) {
  boot(shared_config(true));
  EXPECT_EQ(told(), "nvidia.com/gpu.shared=replicas:0x4,1x4,2x4,3x4");
  EXPECT_EQ(allocatable(kShared), "16");
}

TEST_F(SlicedMachine, ThatAContainerGetsOneReplicaIsTold) {
  deviceplugin::Config config = shared_config(true);
  config.sharing.time_slicing->fail_requests_greater_than_one = true;
  boot(config);
  EXPECT_EQ(told(), "nvidia.com/gpu.shared=one-replica:0x4,1x4,2x4,3x4");
  plane.create(asks("a", kShared, 2));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Failed") << "a scheduler that does not look is still put right";
  EXPECT_THAT(status("a", "message"), HasSubstr("maximum request size for shared resources is 1"));
}

TEST_F(SlicedMachine, AGpusIllnessReachesAllOfItsReplicas) {
  boot(shared_config(false));
  ASSERT_TRUE(machine->inventory().xid(2, 79));
  run(Duration::seconds(5));
  EXPECT_EQ(told(), "nvidia.com/gpu=replicas:0x4,1x4,3x4");
  EXPECT_EQ(sick(), "2");
  EXPECT_EQ(allocatable(kGpu), "12");
  EXPECT_THAT(events("n1"), Contains(HasSubstr("GpuUnhealthy: GPU 2")));
  ASSERT_TRUE(machine->inventory().repair(2));
  run(Duration::minutes(6));
  EXPECT_EQ(told(), "nvidia.com/gpu=replicas:0x4,1x4,2x4,3x4");
  EXPECT_EQ(sick(), "");
  EXPECT_THAT(events("n1"), Contains(HasSubstr("GpuHealthy: GPU 2")));
}

TEST_F(SlicedMachine, AContainerGetsReplicasOfTheChosenGpu) {
  boot(shared_config(false));
  plane.create(asks("a", kGpu, 2, "nvidia.com/gpu=3x2"));
  plane.create(asks("b", kGpu, 1, "nvidia.com/gpu=3x1"));
  run(Duration::seconds(10));
  EXPECT_THAT(held_by("a"), Each(StartsWith(uuid(3) + "::")));
  EXPECT_THAT(held_by("a"), SizeIs(2));
  EXPECT_THAT(held_by("b"), ElementsAre(StartsWith(uuid(3) + "::")));
  const auto facts = machine->runtime().facts(stored("b").meta().uid);
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].env, Contains(::testing::Pair("NVIDIA_VISIBLE_DEVICES", uuid(3))));
}

TEST_F(SlicedMachine, ContainersOfAPodDivideTheChoice) {
  boot(shared_config(false));
  test::PodBuilder pod = asks("a", kGpu, 1, "nvidia.com/gpu=1x1,2x1");
  pod.container("second").image("i").extended(kGpu, "1");
  pod.init_container("fetch").image("i").extended(kGpu, "1");
  plane.create(pod);
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  std::set<std::string> gpus;
  for (const std::string& id : held_by("a")) {
    gpus.insert(std::string(without_replica(id)));
  }
  EXPECT_THAT(gpus, ElementsAre(std::min(uuid(1), uuid(2)), std::max(uuid(1), uuid(2))));
}

TEST_F(SlicedMachine, AChoiceThatCannotBeHadIsTheNodesToMake) {
  boot(shared_config(false));
  plane.create(asks("full", kGpu, 4, "nvidia.com/gpu=0x4"));
  run(Duration::seconds(10));
  plane.create(asks("late", kGpu, 1, "nvidia.com/gpu=0x1"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("late"), "Running");
  ASSERT_THAT(held_by("late"), SizeIs(1));
  EXPECT_NE(without_replica(held_by("late").front()), uuid(0));
}

TEST_F(SlicedMachine, MigDevicesAreToldAndGivenByGpu) {
  deviceplugin::Config config = usual_plugin_config();
  config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  boot(config);
  ASSERT_TRUE(machine->inventory().cut(1, "1g.10gb=2"));
  ASSERT_TRUE(machine->inventory().cut(2, "1g.10gb=1,3g.40gb=1"));
  run(Duration::seconds(5));
  EXPECT_EQ(told(), "nvidia.com/mig-1g.10gb=mig:1x2,2x1;nvidia.com/mig-3g.40gb=mig:2x1");
  EXPECT_EQ(allocatable(kGpu), "2");
  plane.create(asks("a", "nvidia.com/mig-1g.10gb", 1, "nvidia.com/mig-1g.10gb=2x1"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  ASSERT_THAT(held_by("a"), SizeIs(1));
  GpuDevices places(&machine->inventory());
  EXPECT_EQ(places.gpu_of(held_by("a").front()), 2);
  ASSERT_TRUE(machine->inventory().xid(2, 79));
  run(Duration::seconds(5));
  EXPECT_EQ(sick(), "2");
  EXPECT_EQ(told(), "nvidia.com/mig-1g.10gb=mig:1x2;nvidia.com/mig-3g.40gb=mig:");
  EXPECT_THAT(events("a"), Contains(HasSubstr("is unhealthy")));
}

TEST_F(SlicedMachine, LabelsFollowHowGpusAreCut) {
  deviceplugin::Config config = usual_plugin_config();
  config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  boot(config);
  const auto label = [&](const std::string& key) {
    const auto& labels = node().meta().labels;
    const auto it = labels.find(key);
    return it == labels.end() ? "absent" : it->second;
  };
  EXPECT_EQ(label("nvidia.com/mig-1g.10gb.count"), "absent");
  ASSERT_TRUE(machine->inventory().cut(1, "1g.10gb=2"));
  ASSERT_TRUE(machine->inventory().cut(2, "3g.40gb=1"));
  run(Duration::seconds(30));
  EXPECT_EQ(label("nvidia.com/mig-1g.10gb.count"), "2");
  EXPECT_EQ(label("nvidia.com/mig-3g.40gb.count"), "1");
  const std::string product = label("nvidia.com/gpu.product");
  ASSERT_TRUE(machine->inventory().uncut(2));
  run(Duration::seconds(30));
  EXPECT_EQ(label("nvidia.com/mig-1g.10gb.count"), "2");
  EXPECT_EQ(label("nvidia.com/mig-3g.40gb.count"), "absent");
  EXPECT_EQ(label("nvidia.com/gpu.product"), product);
  ASSERT_TRUE(machine->inventory().uncut(1));
  machine->crash_agent();
  machine->start_agent();
  run(Duration::seconds(30));
  EXPECT_EQ(label("nvidia.com/mig-1g.10gb.count"), "absent") << "left by the agent before";
}

TEST_F(SlicedMachine, ALabelSaysThatAChangeOfMigIsPending) {
  deviceplugin::Config config = usual_plugin_config();
  config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  boot(config);
  const auto label = [&](std::string_view key) {
    const auto& labels = node().meta().labels;
    const auto it = labels.find(key);
    return it == labels.end() ? "absent" : it->second;
  };
  const std::string product = label("nvidia.com/gpu.product");
  ASSERT_NE(product, "absent");
  EXPECT_EQ(label("berth.dev/mig-state"), "absent");
  ASSERT_TRUE(machine->inventory().await_mig_change(1));
  run(Duration::seconds(30));
  EXPECT_EQ(label("berth.dev/mig-state"), "pending");
  EXPECT_EQ(label("nvidia.com/gpu.product"), product);
  machine->crash_agent();
  machine->start_agent();
  run(Duration::seconds(30));
  EXPECT_EQ(label("berth.dev/mig-state"), "pending");
  ASSERT_TRUE(machine->inventory().cut(1, "1g.10gb=2"));
  run(Duration::seconds(30));
  EXPECT_EQ(label("berth.dev/mig-state"), "absent");
  EXPECT_EQ(label("nvidia.com/mig-1g.10gb.count"), "2");
  EXPECT_EQ(label("nvidia.com/gpu.product"), product);
  EXPECT_EQ(label("nvidia.com/mig.config.state"), "absent") << "another's";
}

TEST_F(SlicedMachine, LabelsOfARegisteredCutGoWithIt) {
  deviceplugin::Config config = usual_plugin_config();
  config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  boot(config);
  ASSERT_TRUE(machine->inventory().cut(1, "1g.10gb=2"));
  machine->crash_agent();
  machine->start_agent();
  run(Duration::seconds(30));
  ASSERT_TRUE(node().meta().labels.contains("nvidia.com/mig-1g.10gb.count"));
  ASSERT_TRUE(machine->inventory().uncut(1));
  run(Duration::minutes(2));
  EXPECT_FALSE(node().meta().labels.contains("nvidia.com/mig-1g.10gb.count"))
      << "the agent began with it, and does not bring it back";
}

TEST_F(SlicedMachine, APodWhoseMigDeviceIsGoneAfterARebootIsTurnedAway) {
  deviceplugin::Config config = usual_plugin_config();
  config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  boot(config);
  ASSERT_TRUE(machine->inventory().cut(1, "1g.10gb=2"));
  run(Duration::seconds(5));
  plane.create(asks("a", "nvidia.com/mig-1g.10gb", 1));
  run(Duration::seconds(10));
  ASSERT_EQ(phase("a"), "Running") << container("a", 0, "state.waiting.message");
  machine->power_off();
  run(Duration::minutes(1));
  machine->power_on();
  run(Duration::minutes(4));
  EXPECT_EQ(container("a", 0, "state.waiting.message"),
            "waiting for devices: no healthy devices present; cannot allocate unhealthy devices "
            "nvidia.com/mig-1g.10gb");
  run(Duration::minutes(4));
  EXPECT_EQ(phase("a"), "Failed");
  EXPECT_EQ(status("a", "reason"), "UnexpectedAdmissionError");
}

TEST_F(SlicedMachine, APodWhoseMigDeviceWasCutAnewAfterARebootIsTurnedAway) {
  deviceplugin::Config config = usual_plugin_config();
  config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  boot(config);
  ASSERT_TRUE(machine->inventory().cut(1, "1g.10gb=2"));
  run(Duration::seconds(5));
  plane.create(asks("a", "nvidia.com/mig-1g.10gb", 1));
  run(Duration::seconds(10));
  ASSERT_EQ(phase("a"), "Running");
  const auto before = held_by("a");
  machine->power_off();
  run(Duration::minutes(1));
  machine->power_on();
  ASSERT_TRUE(machine->inventory().cut(2, "1g.10gb=2")); // the same profile, other devices
  run(Duration::minutes(1));
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  EXPECT_EQ(held_by("a"), before) << "not given another in silence";
  machine->crash_agent();
  machine->start_agent();
  run(Duration::minutes(6));
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  EXPECT_EQ(phase("a"), "Failed");
  EXPECT_THAT(status("a", "message"), HasSubstr("mig-1g.10gb"));
}

TEST_F(SlicedMachine, AfterARebootWithoutACheckpointNoPodStartsWithoutItsReplica) {
  boot(shared_config(true));
  EXPECT_EQ(node().meta().annotations.at("berth.dev/plugin-resources"), kShared);
  plane.create(asks("a", kShared, 1));
  run(Duration::seconds(10));
  ASSERT_EQ(phase("a"), "Running");
  machine->power_off();
  machine->disk() = MemoryCheckpointStore();
  machine->power_on();
  machine->crash_plugin();
  run(Duration::minutes(1));
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  machine->start_plugin();
  run(Duration::minutes(1));
  EXPECT_THAT(machine->runtime().running(), SizeIs(1));
  EXPECT_THAT(held_by("a"), SizeIs(1));
}

TEST(GpuDevices, KnowsReplicasAndNothingThatIsNotItsMachines) {
  EXPECT_EQ(without_replica("GPU-a::12"), "GPU-a");
  EXPECT_EQ(without_replica("GPU-a"), "GPU-a");
  GpuDevices none(nullptr);
  EXPECT_EQ(none.gpu_of("GPU-a"), std::nullopt);
  EXPECT_EQ(none.uuid_of(0), std::nullopt);
}

} // namespace
} // namespace berth::node
