#include "berth/node/simulated_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/node/checkpoint.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class Machine : public test::MachineFixture {};

TEST_F(Machine, RegistersItsNodeWithItsGpus) {
  ASSERT_TRUE(node());
  EXPECT_EQ(capacity("nvidia.com/gpu"), "8");
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "8");
  EXPECT_TRUE((*model::node_view(node()))->ready());
  EXPECT_TRUE(machine->agent()->settled());
}

TEST_F(Machine, RunsAPodToItsEnd) {
  plane.create(bound("a").gpus(2).restart_policy("Never").run_for("1m"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(held_by("a").size(), 2u);
  EXPECT_EQ(condition("a", "Ready"), "True");
  EXPECT_EQ(condition("a", "Initialized"), "True");
  EXPECT_THAT(status("a", "podIP"), HasSubstr("100."));
  EXPECT_THAT(events("a"), Contains("Started: Started container main"));
  EXPECT_TRUE(machine->agent()->settled());
  run(Duration::minutes(2));
  EXPECT_EQ(phase("a"), "Succeeded");
  EXPECT_EQ(condition("a", "Ready"), "False");
  EXPECT_EQ(container("a", 0, "state.terminated.reason"), "Completed");
  EXPECT_THAT(held_by("a"), IsEmpty());
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
  EXPECT_TRUE(machine->agent()->settled());
}

TEST_F(Machine, AmountsOfHamisVgpusComeWithTheirGpu) {
  plane.create(
      bound("a").gpus(1).limit("nvidia.com/gpumem", "3000").limit("nvidia.com/gpucores", "30"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
}

TEST_F(Machine, AContainerSeesExactlyItsDevices) {
  plane.create(bound("a").gpus(2).annotation("berth.dev/gpu-indices", "2,5"));
  run(Duration::seconds(10));
  const auto facts = machine->runtime().facts(stored("a").meta().uid);
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", uuid(2) + "," + uuid(5))));
  std::vector<std::string> devices;
  for (const runtime::DeviceNode& device : facts[0].devices) {
    devices.push_back(
        fmt::format("{} {}:{} {}", device.path, device.major, device.minor, device.permissions));
  }
  EXPECT_THAT(devices, ::testing::UnorderedElementsAre(
                           "/dev/nvidiactl 195:255 rw", "/dev/nvidia-modeset 195:254 rw",
                           "/dev/nvidia-uvm 510:0 rw", "/dev/nvidia-uvm-tools 510:1 rw",
                           "/dev/nvidia2 195:2 rw", "/dev/nvidia5 195:5 rw"));
  EXPECT_THAT(facts[0].cdi_devices,
              ::testing::UnorderedElementsAre("k8s.device-plugin.nvidia.com/gpu=" + uuid(2),
                                              "k8s.device-plugin.nvidia.com/gpu=" + uuid(5)));
}

TEST_F(Machine, DeletionWalksBack) {
  plane.create(bound("a").gpus(8));
  run(Duration::seconds(10));
  ASSERT_EQ(phase("a"), "Running");
  plane.remove(client::kPods, {"default", "a"});
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "gone");
  EXPECT_TRUE(machine->agent()->devices().empty());
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  EXPECT_THAT(events("a"), Contains("Killing: Stopping container main"));
  EXPECT_TRUE(machine->agent()->settled());
}

TEST_F(Machine, SigtermThatIsIgnoredEndsInSigkill) {
  plane.create(bound("a").annotation("berth.dev/stop-takes", "forever").grace(7));
  run(Duration::seconds(10));
  plane.remove(client::kPods, {"default", "a"});
  run(Duration::seconds(6));
  EXPECT_EQ(phase("a"), "Running");
  run(Duration::seconds(2));
  EXPECT_EQ(phase("a"), "gone");
}

TEST_F(Machine, AFailedGpuLeavesAllocatableAndItsPodIsTold) {
  plane.create(bound("a").gpus(1).annotation("berth.dev/gpu-indices", "3"));
  run(Duration::seconds(10));
  ASSERT_TRUE(machine->inventory().xid(3, 79));
  run(Duration::seconds(1));
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "7");
  EXPECT_EQ(capacity("nvidia.com/gpu"), "8");
  EXPECT_EQ(node().meta().annotations.at("berth.dev/unhealthy-gpus"), "3");
  EXPECT_THAT(events("n1"), Contains("GpuUnhealthy: GPU 3 (" + uuid(3) +
                                     ") is unhealthy: Xid 79 (GPU has fallen off the bus)"));
  EXPECT_EQ(phase("a"), "Running") << "the kubelet does not kill it";
  EXPECT_EQ(condition("a", "berth.dev/DevicesHealthy"), "False");
  EXPECT_EQ(container("a", 0, "allocatedResourcesStatus.0.resources.0.health"), "Unhealthy");
  EXPECT_THAT(events("a"), Contains("DeviceUnhealthy: device nvidia.com/gpu " + uuid(3) +
                                    " of container main is unhealthy"));

  plane.create(bound("b").gpus(1).annotation("berth.dev/gpu-indices", "3"));
  plane.create(bound("c").gpus(8));
  run(Duration::seconds(10));
  EXPECT_EQ(status("b", "reason"), "UnexpectedAdmissionError");
  EXPECT_EQ(status("c", "reason"), "OutOfnvidia.com/gpu");
  EXPECT_EQ(
      status("c", "message"),
      "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 8, used: 1, "
      "capacity: 7");

  ASSERT_TRUE(machine->inventory().repair(3));
  run(Duration::seconds(10));
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "8");
  EXPECT_FALSE(node().meta().annotations.contains("berth.dev/unhealthy-gpus"));
  EXPECT_EQ(condition("a", "berth.dev/DevicesHealthy"), "True");
  EXPECT_THAT(events("n1"), Contains("GpuHealthy: GPU 3 (" + uuid(3) + ") is healthy again"));
}

TEST_F(Machine, AnXidOfTheApplicationChangesNothing) {
  for (const int code : {13, 31, 43, 45, 68, 109}) {
    ASSERT_TRUE(machine->inventory().xid(0, code));
  }
  run(Duration::seconds(1));
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "8");
  EXPECT_FALSE(node().meta().annotations.contains("berth.dev/unhealthy-gpus"));
}

TEST_F(Machine, ARestartedPluginRemembersWhatIsBroken) {
  ASSERT_TRUE(machine->inventory().xid(1, 48));
  run(Duration::seconds(1));
  machine->crash_plugin();
  run(Duration::seconds(1));
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "0");
  EXPECT_EQ(capacity("nvidia.com/gpu"), "8");
  EXPECT_EQ(node().meta().annotations.at("berth.dev/unhealthy-gpus"), "1") << "still true";
  machine->start_plugin();
  run(Duration::seconds(1));
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "7");
  EXPECT_EQ(node().meta().annotations.at("berth.dev/unhealthy-gpus"), "1");
}

TEST_F(Machine, APodWaitsForAPluginThatIsComingBack) {
  machine->crash_plugin();
  run(Duration::seconds(1));
  plane.create(bound("a").gpus(1));
  run(Duration::minutes(1));
  EXPECT_EQ(phase("a"), "Pending");
  EXPECT_THAT(container("a", 0, "state.waiting.message"), HasSubstr("waiting for devices: "));
  EXPECT_FALSE(machine->agent()->settled());
  machine->start_plugin();
  run(Duration::seconds(5));
  EXPECT_EQ(phase("a"), "Running");
}

TEST_F(Machine, AWaitThatIsTooLongIsARejection) {
  machine->crash_plugin();
  run(Duration::seconds(1));
  plane.create(bound("a").gpus(1));
  run(Duration::minutes(6));
  EXPECT_EQ(phase("a"), "Failed");
  EXPECT_EQ(status("a", "reason"), "UnexpectedAdmissionError");
  EXPECT_THAT(status("a", "message"), HasSubstr("Pod was rejected: Allocate failed due to "));
  EXPECT_THAT(status("a", "message"), HasSubstr(", which is unexpected"));
  EXPECT_TRUE(machine->agent()->settled());
}

TEST_F(Machine, APodWithoutDevicesDoesNotWaitForPlugins) {
  machine->crash_plugin();
  plane.create(bound("a").gpus(1));
  run(Duration::seconds(1));
  plane.create(bound("b").cpu("1"));
  run(Duration::seconds(5));
  EXPECT_EQ(phase("a"), "Pending");
  EXPECT_EQ(phase("b"), "Running");
}

TEST_F(Machine, ForcedDeletionDoesNotGiveAGpuTwice) {
  plane.create(bound("a").gpus(8).annotation("berth.dev/stop-takes", "forever").grace(20));
  run(Duration::seconds(10));
  plane.remove(client::kPods, {"default", "a"}, {.grace_period_seconds = 0});
  plane.create(bound("b").gpus(8));
  run(Duration::seconds(5));
  EXPECT_EQ(phase("a"), "gone");
  EXPECT_EQ(phase("b"), "Pending") << "the dying pod still has the GPUs";
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
  run(Duration::seconds(30));
  EXPECT_EQ(phase("b"), "Running");
  EXPECT_THAT(machine->runtime().running(), SizeIs(1));
}

TEST_F(Machine, AResourceNobodyOffersKeepsThePodFromStarting) {
  plane.create(bound("a").extended("example.com/fpga", "1"));
  run(Duration::minutes(6));
  EXPECT_EQ(phase("a"), "Failed");
  EXPECT_EQ(status("a", "message"),
            "Pod was rejected: Allocate failed due to cannot allocate unregistered device "
            "example.com/fpga, which is unexpected");
}

TEST_F(Machine, ARestartedAgentFindsEverything) {
  plane.create(bound("a").gpus(3));
  plane.create(bound("b").gpus(2).restart_policy("Never").run_for("5m"));
  run(Duration::seconds(10));
  const auto before = held_by("a");
  machine->crash_agent();
  run(Duration::seconds(5));
  EXPECT_THAT(machine->runtime().running(), SizeIs(2)) << "containers go on";
  plane.remove(client::kPods, {"default", "b"}, {.grace_period_seconds = 0});
  machine->start_agent();
  run(Duration::seconds(3));
  EXPECT_EQ(held_by("a"), before);
  EXPECT_EQ(container("a", 0, "restartCount"), "0");
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_THAT(machine->runtime().running(), SizeIs(1)) << "what was deleted meanwhile is ended";
  EXPECT_EQ(machine->agent()->devices().held("nvidia.com/gpu").size(), 3u);
  EXPECT_TRUE(machine->agent()->settled());
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
}

TEST_F(Machine, AnEndDuringTheAgentsAbsenceIsSeenLater) {
  plane.create(bound("a").gpus(1).restart_policy("Never").run_for("30s"));
  run(Duration::seconds(10));
  machine->crash_agent();
  run(Duration::minutes(1));
  EXPECT_EQ(phase("a"), "Running");
  machine->start_agent();
  run(Duration::seconds(1));
  EXPECT_EQ(phase("a"), "Succeeded");
}

TEST_F(Machine, ATerminalPodNeverChanges) {
  plane.create(bound("a").gpus(1).restart_policy("Never").run_for("10s"));
  run(Duration::seconds(30));
  ASSERT_EQ(phase("a"), "Succeeded");
  const std::string before = stored("a").bytes();
  machine->power_off();
  machine->power_on();
  run(Duration::minutes(1));
  EXPECT_EQ(stored("a").bytes(), before);
}

TEST_F(Machine, ALostCheckpointIsRebuiltFromTheRuntime) {
  plane.create(bound("a").gpus(5));
  run(Duration::seconds(10));
  const auto before = held_by("a");
  machine->crash_agent();
  machine->disk().corrupt("garbage");
  machine->start_agent();
  run(Duration::seconds(1));
  EXPECT_EQ(held_by("a"), before);
  plane.create(bound("b").gpus(4));
  plane.create(bound("c").gpus(3));
  run(Duration::seconds(10));
  EXPECT_EQ(status("b", "reason"), "OutOfnvidia.com/gpu");
  EXPECT_EQ(phase("c"), "Running");
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
}

TEST_F(Machine, ACheckpointOlderThanARunningContainerIsNotBelieved) {
  plane.create(bound("a").gpus(8));
  run(Duration::seconds(10));
  machine->disk().set_space(MemoryCheckpointStore::Space::Full);
  plane.remove(client::kPods, {"default", "a"}, {.grace_period_seconds = 0});
  run(Duration::seconds(1));
  plane.create(bound("b").gpus(3));
  run(Duration::seconds(10));
  const auto before = held_by("b");
  ASSERT_THAT(before, SizeIs(3));
  machine->crash_agent();
  machine->start_agent();
  run(Duration::seconds(1));
  EXPECT_EQ(held_by("b"), before);
  EXPECT_THAT(machine->agent()->devices().held("nvidia.com/gpu"), SizeIs(3));
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
}

TEST_F(Machine, ACheckpointOlderThanTheEndOfAPodIsForgotten) {
  plane.create(bound("a").gpus(8));
  run(Duration::seconds(10));
  machine->disk().set_space(MemoryCheckpointStore::Space::Full);
  plane.remove(client::kPods, {"default", "a"}, {.grace_period_seconds = 0});
  run(Duration::seconds(10));
  machine->crash_agent();
  machine->start_agent();
  run(Duration::seconds(1));
  EXPECT_TRUE(machine->agent()->devices().empty());
}

TEST_F(Machine, WhatTheDiskDidNotTakeIsWrittenLater) {
  const auto written = [&] { return decode_checkpoint(machine->disk().bytes().value_or("")); };
  ASSERT_TRUE(written());
  machine->disk().set_space(MemoryCheckpointStore::Space::Full);
  plane.create(bound("a").gpus(2));
  run(Duration::seconds(10));
  EXPECT_THAT(written()->holdings, IsEmpty());
  machine->disk().set_space(MemoryCheckpointStore::Space::Free);
  run(Duration::seconds(20));
  ASSERT_TRUE(written());
  EXPECT_EQ(written()->holdings, machine->agent()->devices().all());
}

TEST_F(Machine, ARestartAfterALostCheckpointStillGivesTheContainerItsDevices) {
  plane.create(bound("a").gpus(1).run_for("30s").annotation("berth.dev/exit-code", "1"));
  run(Duration::seconds(10));
  const auto before = held_by("a");
  machine->crash_agent();
  machine->disk().corrupt("garbage");
  machine->start_agent();
  run(Duration::minutes(1));
  const auto facts = machine->runtime().facts(stored("a").meta().uid);
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_EQ(container("a", 0, "restartCount"), "1");
  EXPECT_THAT(facts[0].env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", before.at(0))));
}

TEST_F(Machine, AfterARebootPodsComeBackOnTheirDevices) {
  plane.create(bound("a").gpus(2));
  plane.create(bound("b").gpus(1).restart_policy("Never"));
  run(Duration::seconds(10));
  const auto before = held_by("a");
  machine->power_off();
  run(Duration::seconds(30));
  machine->power_on();
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(held_by("a"), before);
  EXPECT_EQ(container("a", 0, "restartCount"), "1");
  EXPECT_EQ(container("a", 0, "lastState.terminated.exitCode"), "255");
  EXPECT_EQ(phase("b"), "Failed");
  EXPECT_TRUE(machine->agent()->settled());
}

TEST_F(Machine, AfterARebootPodsWaitForTheirPlugin) {
  plane.create(bound("a").gpus(2));
  run(Duration::seconds(10));
  machine->power_off();
  machine->power_on();
  machine->crash_plugin();
  run(Duration::minutes(1));
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  EXPECT_EQ(phase("a"), "Running") << "an admitted pod is not failed for that";
  machine->start_plugin();
  run(Duration::seconds(10));
  EXPECT_THAT(machine->runtime().running(), SizeIs(1));
}

TEST_F(Machine, CrashesBackOff) {
  plane.create(bound("a").run_for("1s").annotation("berth.dev/exit-code", "3"));
  run(Duration::seconds(5));
  EXPECT_EQ(container("a", 0, "state.waiting.reason"), "CrashLoopBackOff");
  EXPECT_EQ(container("a", 0, "lastState.terminated.exitCode"), "3");
  EXPECT_THAT(container("a", 0, "state.waiting.message"),
              HasSubstr("back-off 10s restarting failed container=main pod=a_default("));
  EXPECT_EQ(container("a", 0, "restartCount"), "1");
  EXPECT_EQ(phase("a"), "Running");
  run(Duration::seconds(10));
  EXPECT_EQ(container("a", 0, "restartCount"), "2");
  run(Duration::seconds(20));
  EXPECT_EQ(container("a", 0, "restartCount"), "3");
  run(Duration::seconds(3));
  EXPECT_THAT(container("a", 0, "state.waiting.message"), HasSubstr("back-off 40s"));
  run(Duration::minutes(30));
  EXPECT_THAT(container("a", 0, "state.waiting.message"), HasSubstr("back-off 5m"));
}

TEST_F(Machine, InitContainersRunInOrderAndLendTheirDevices) {
  plane.create(bound("a")
                   .gpus(8)
                   .restart_policy("Never")
                   .run_for("1m")
                   .init_container("prepare")
                   .image("i")
                   .gpus(8));
  run(Duration::millis(1200));
  EXPECT_EQ(phase("a"), "Pending");
  EXPECT_EQ(condition("a", "Initialized"), "False");
  run(Duration::seconds(5));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(held_by("a").size(), 8u);
  run(Duration::minutes(2));
  EXPECT_EQ(phase("a"), "Succeeded");
}

TEST_F(Machine, AnInitContainersSurplusIsFreeOnceItIsDone) {
  plane.create(bound("a").gpus(1).init_container("prepare").image("i").gpus(8));
  run(Duration::seconds(10));
  ASSERT_EQ(phase("a"), "Running");
  EXPECT_EQ(held_by("a").size(), 1u);
  machine->crash_agent();
  machine->start_agent();
  run(Duration::seconds(10));
  plane.create(bound("b").gpus(7));
  plane.create(bound("c").gpus(1));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("b"), "Running");
  EXPECT_EQ(status("c", "reason"), "OutOfnvidia.com/gpu");
}

TEST_F(Machine, APodThatAsksForNoGpuSeesNone) {
  auto curious = bound("a");
  curious.edit([](api::json::object& document) {
    api::json::object& container =
        document["spec"].as_object()["containers"].as_array().front().as_object();
    container["env"] =
        api::json::array{api::json::object{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "all"}}};
  });
  plane.create(curious);
  run(Duration::seconds(10));
  const auto facts = machine->runtime().facts(stored("a").meta().uid);
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].devices, IsEmpty());
  EXPECT_THAT(facts[0].env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(facts[0].env, ::testing::Not(Contains(Pair("NVIDIA_VISIBLE_DEVICES", "all"))));
}

TEST_F(Machine, AFailedInitContainerFailsThePod) {
  plane.create(bound("a")
                   .restart_policy("Never")
                   .annotation("berth.dev/exit-code.prepare", "4")
                   .init_container("prepare")
                   .image("i"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Failed");
  EXPECT_EQ(init_container("a", 0, "state.terminated.exitCode"), "4");
}

TEST_F(Machine, ASidecarIsStoppedWhenTheWorkIsDone) {
  plane.create(bound("a").restart_policy("Never").run_for("20s").sidecar("log").image("i"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_THAT(machine->runtime().running(), SizeIs(2));
  run(Duration::minutes(1));
  EXPECT_EQ(phase("a"), "Succeeded");
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
}

TEST_F(Machine, ADeadlineEndsAPod) {
  plane.create(bound("a").gpus(1).deadline(30));
  run(Duration::seconds(25));
  EXPECT_EQ(phase("a"), "Running");
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Failed");
  EXPECT_EQ(status("a", "reason"), "DeadlineExceeded");
  EXPECT_THAT(held_by("a"), IsEmpty());
}

TEST_F(Machine, PodsOfACrowdedNodeAreRejectedInOrder) {
  for (const char* name : {"a", "b", "c"}) {
    plane.create(bound(name).gpus(4));
  }
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(phase("b"), "Running");
  EXPECT_EQ(status("c", "reason"), "OutOfnvidia.com/gpu");
  EXPECT_THAT(events("c"),
              Contains("OutOfnvidia.com/gpu: Node didn't have enough resource: nvidia.com/gpu, "
                       "requested: 4, used: 8, capacity: 8"));
}

TEST_F(Machine, ARejectedPodIsRemovedWhenDeleted) {
  plane.create(bound("a").gpus(9));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Failed");
  plane.remove(client::kPods, {"default", "a"});
  run(Duration::seconds(1));
  EXPECT_EQ(phase("a"), "gone");
}

TEST_F(Machine, AnotherPodOfTheSameNameIsAnotherPod) {
  plane.create(bound("a").gpus(8));
  run(Duration::seconds(10));
  const std::string uid = stored("a").meta().uid;
  plane.remove(client::kPods, {"default", "a"}, {.grace_period_seconds = 0});
  plane.create(bound("a").gpus(8));
  run(Duration::seconds(20));
  EXPECT_NE(stored("a").meta().uid, uid);
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_THAT(machine->runtime().running(), SizeIs(1));
}

} // namespace
} // namespace berth::node
