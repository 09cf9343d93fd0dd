// Cases that users of Kubernetes' device plugins met, and what is to happen instead; the table of
// docs/node-faults.md says which issue each is from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/node/checkpoint.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodeFaults : public test::MachineFixture {
 protected:
  NodeFaults() { set_log_level(LogLevel::Off); }
  ~NodeFaults() override { set_log_level(LogLevel::Warn); }

  void restart_agent() {
    machine->crash_agent();
    machine->start_agent();
  }
};

TEST_F(NodeFaults, AnAgentThatRestartsBeforeThePluginLeavesRunningPodsAlone) {
  plane.create(bound("a").gpus(2).run_for("24h"));
  run(Duration::seconds(10));
  const auto before = held_by("a");
  machine->crash_plugin();
  restart_agent();
  run(Duration::minutes(20));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(container("a", 0, "restartCount"), "0");
  EXPECT_EQ(held_by("a"), before);
  machine->start_plugin();
  run(Duration::seconds(10));
  EXPECT_EQ(held_by("a"), before);
  EXPECT_TRUE(machine->agent()->settled());
}

TEST_F(NodeFaults, AnInitContainerThatHasEndedNeedsNoDeviceAfterARestart) {
  plane.create(bound("a").gpus(2).run_for("24h").init_container("fetch").image("i").gpus(2));
  run(Duration::seconds(20));
  ASSERT_EQ(phase("a"), "Running");
  const auto before = held_by("a");
  machine->crash_plugin();
  restart_agent();
  run(Duration::minutes(20));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(container("a", 0, "restartCount"), "0");
  EXPECT_EQ(held_by("a"), before);
}

TEST_F(NodeFaults, ACompletedPodIsNotAdmittedAgainByARestartedAgent) {
  plane.create(bound("a").gpus(8).restart_policy("Never").run_for("10s"));
  run(Duration::seconds(30));
  ASSERT_EQ(phase("a"), "Succeeded");
  const std::string before = stored("a").bytes();
  machine->crash_plugin();
  restart_agent();
  run(Duration::minutes(20));
  EXPECT_EQ(stored("a").bytes(), before);
  EXPECT_TRUE(machine->agent()->devices().empty());
}

TEST_F(NodeFaults, AfterARebootWithoutACheckpointAPodDoesNotStartWithoutItsDevices) {
  plane.create(bound("a").gpus(2));
  run(Duration::seconds(10));
  machine->power_off();
  machine->disk() = MemoryCheckpointStore();
  machine->power_on();
  machine->crash_plugin();
  run(Duration::minutes(1));
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  machine->start_plugin();
  run(Duration::seconds(30));
  ASSERT_THAT(machine->runtime().running(), SizeIs(1));
  EXPECT_THAT(held_by("a"), SizeIs(2));
  const auto facts = machine->runtime().facts(stored("a").meta().uid);
  ASSERT_THAT(facts, SizeIs(1));
  EXPECT_THAT(facts[0].cdi_devices, SizeIs(2));
}

TEST_F(NodeFaults, ADeadDeviceOfBeforeTheRebootIsNotGivenToItsPodAgain) {
  plane.create(bound("a").gpus(1).annotation("berth.dev/gpu-indices", "3"));
  run(Duration::seconds(10));
  ASSERT_EQ(phase("a"), "Running");
  machine->power_off();
  machine->power_on();
  machine->crash_plugin();
  run(Duration::seconds(1));
  ASSERT_TRUE(machine->inventory().xid(3, 79));
  machine->start_plugin();
  run(Duration::minutes(4));
  EXPECT_EQ(phase("a"), "Running") << "held: it may get well";
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  run(Duration::minutes(2));
  EXPECT_EQ(phase("a"), "Failed");
  EXPECT_EQ(status("a", "reason"), "UnexpectedAdmissionError");
  EXPECT_THAT(status("a", "message"), HasSubstr("previously allocated devices are no longer "
                                                "healthy"));
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
}

TEST_F(NodeFaults, ADeviceThatIsWellAgainSoonAfterTheRebootIsWaitedFor) {
  plane.create(bound("a").gpus(1).annotation("berth.dev/gpu-indices", "3"));
  run(Duration::seconds(10));
  machine->power_off();
  machine->power_on();
  machine->crash_plugin();
  run(Duration::seconds(1));
  ASSERT_TRUE(machine->inventory().lose(3));
  machine->start_plugin();
  run(Duration::minutes(2));
  EXPECT_THAT(machine->runtime().running(), IsEmpty());
  ASSERT_TRUE(machine->inventory().repair(3));
  run(Duration::minutes(1));
  EXPECT_THAT(machine->runtime().running(), SizeIs(1));
  EXPECT_EQ(phase("a"), "Running");
}

TEST_F(NodeFaults, APodThatCameBackAfterARebootIsLikeAnyOther) {
  plane.create(bound("a").gpus(1).annotation("berth.dev/gpu-indices", "3").run_for("2m"));
  run(Duration::seconds(10));
  machine->power_off();
  machine->power_on();
  run(Duration::seconds(30));
  ASSERT_THAT(machine->runtime().running(), SizeIs(1));
  ASSERT_TRUE(machine->inventory().xid(3, 79));
  run(Duration::minutes(10)); // its container ends and starts again
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_NE(container("a", 0, "restartCount"), "0");
}

TEST_F(NodeFaults, APluginThatRestartsBetweenBindingAndAllocationIsWaitedFor) {
  plane.create(bound("a").gpus(2));
  machine->crash_plugin();
  run(Duration::seconds(20));
  EXPECT_EQ(phase("a"), "Pending");
  machine->start_plugin();
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
}

TEST_F(NodeFaults, ARestartedPluginDoesNotBringDevicesOfRunningPodsBackIntoPlay) {
  plane.create(bound("a").gpus(6));
  run(Duration::seconds(10));
  const auto before = held_by("a");
  for (int round = 0; round < 5; ++round) {
    machine->crash_plugin();
    run(Duration::millis(300));
    machine->start_plugin();
    run(Duration::seconds(2));
  }
  plane.create(bound("b").gpus(2));
  plane.create(bound("c").gpus(1));
  run(Duration::seconds(10));
  EXPECT_EQ(held_by("a"), before);
  EXPECT_EQ(phase("b"), "Running");
  EXPECT_EQ(status("c", "reason"), "OutOfnvidia.com/gpu");
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
}

TEST_F(NodeFaults, WithTheDiskFullDevicesAreGivenOnceAllTheSame) {
  machine->disk().set_space(MemoryCheckpointStore::Space::Full);
  plane.create(bound("a").gpus(4));
  plane.create(bound("b").gpus(4));
  run(Duration::seconds(10));
  ASSERT_EQ(phase("a"), "Running");
  ASSERT_EQ(phase("b"), "Running");
  const auto before = held_by("a");
  restart_agent();
  run(Duration::seconds(5));
  EXPECT_EQ(held_by("a"), before) << "its containers say so";
  EXPECT_EQ(held_by("b").size(), 4u);
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
  machine->disk().set_space(MemoryCheckpointStore::Space::Free);
  run(Duration::seconds(20));
  EXPECT_EQ(decode_checkpoint(*machine->disk().bytes())->holdings,
            machine->agent()->devices().all());
}

TEST_F(NodeFaults, ATerminatedPodsDevicesAreInNobodysListAndInNoCheckpoint) {
  plane.create(bound("a").gpus(8).restart_policy("Never").run_for("10s"));
  run(Duration::minutes(1));
  ASSERT_EQ(phase("a"), "Succeeded");
  EXPECT_THAT(machine->agent()->devices().pods(), IsEmpty());
  EXPECT_THAT(decode_checkpoint(*machine->disk().bytes())->holdings, IsEmpty());
}

TEST_F(NodeFaults, APodOfAnOldCheckpointThatTheApiNoLongerKnowsIsForgotten) {
  plane.create(bound("a").gpus(8));
  run(Duration::seconds(10));
  const std::string old = *machine->disk().bytes();
  machine->power_off();
  plane.remove(client::kPods, {"default", "a"}, {.grace_period_seconds = 0});
  run(Duration::seconds(10));
  machine->disk().corrupt(old);
  machine->power_on();
  plane.create(bound("b").gpus(8));
  run(Duration::seconds(20));
  EXPECT_EQ(phase("b"), "Running");
  EXPECT_THAT(machine->agent()->devices().pods(), SizeIs(1));
}

} // namespace
} // namespace berth::node
