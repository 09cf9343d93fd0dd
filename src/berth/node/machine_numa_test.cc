// Whole lives of a machine whose agent minds NUMA nodes: who gets which CPUs and memory, who is
// turned away, and what is left of it after crashes and reboots.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/node/checkpoint.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using test::MachineWorld;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using topology::CpuSet;
using topology::NumaMask;

topology::Settings settings(topology::Policy policy,
                            topology::Scope scope = topology::Scope::Container) {
  return {.alignment = {.policy = policy, .scope = scope, .options = {}},
          .cpu_policy = topology::CpuPolicy::Static,
          .cpu_options = {},
          .reserved_cpus = {},
          .memory_policy = topology::MemoryPolicy::Static,
          .reserved_memory = {}};
}

// A DGX H100: GPUs 0-3 and CPUs 0-55,112-167 on node 0, the others on node 1.
class NumaMachine : public ::testing::Test {
 protected:
  void boot(const topology::Settings& numa, std::string_view platform = "dgx-h100") {
    world_ = std::make_unique<MachineWorld>(1, platform, numa);
  }
  MachineWorld& world() { return *world_; }
  const topology::NumaBook& numa() const { return world_->machine->agent()->numa(); }

  /// A pod of class Guaranteed.
  static test::PodBuilder pinned(std::string_view name, std::string_view cpus) {
    return own(MachineWorld::bound(name), cpus);
  }
  /// The container named last asks for CPUs and memory of its own.
  static test::PodBuilder own(test::PodBuilder builder, std::string_view cpus) {
    return builder.extended("cpu", cpus).extended("memory", "1Gi");
  }
  std::string uid(std::string_view name) { return world_->stored(name).meta().uid; }
  CpuSet cpus(std::string_view name, std::string_view container = "main") {
    return numa().cpus().find(uid(name), container).value_or(CpuSet());
  }
  /// NUMA nodes of CPUs of its own.
  NumaMask nodes(std::string_view name, std::string_view container = "main") {
    NumaMask mask;
    const CpuSet own_cpus = cpus(name, container);
    for (const topology::Cpu& cpu : numa().rules().machine->cpus) {
      mask = own_cpus.has(cpu.id) ? mask | NumaMask::single(cpu.numa) : mask;
    }
    return mask;
  }
  runtime::ContainerFacts facts(std::string_view name) {
    const auto all = world_->machine->runtime().facts(uid(name));
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? runtime::ContainerFacts() : all.front();
  }

  std::unique_ptr<MachineWorld> world_;
};

TEST_F(NumaMachine, AGuaranteedPodIsWhereItsGpusAre) {
  boot(settings(topology::Policy::Restricted));
  world().plane.create(pinned("a", "4").gpus(2).annotation("berth.dev/gpu-indices", "4,5"));
  world().run(Duration::seconds(10));
  ASSERT_EQ(world().phase("a"), "Running") << world().status("a", "message");
  EXPECT_THAT(cpus("a"), SizeIs(4));
  EXPECT_EQ(nodes("a"), NumaMask::of({1}));
  EXPECT_EQ(facts("a").cpuset_cpus, cpus("a").to_string());
  EXPECT_EQ(facts("a").cpuset_mems, "1");
  EXPECT_THAT(world().machine->broken_invariants(), IsEmpty());
}

TEST_F(NumaMachine, WithoutAChoiceGpusAndCpusMeetOnOneNode) {
  boot(settings(topology::Policy::SingleNumaNode));
  world().plane.create(pinned("a", "4").gpus(3));
  world().plane.create(pinned("b", "4").gpus(3));
  world().run(Duration::seconds(10));
  ASSERT_EQ(world().phase("b"), "Running") << world().status("b", "message");
  EXPECT_EQ(nodes("a"), NumaMask::of({0}));
  EXPECT_EQ(nodes("b"), NumaMask::of({1})) << "one GPU is left on node 0";
  for (const std::string& id : world().held_by("b")) {
    EXPECT_THAT(
        (std::set<std::string>{world().uuid(4), world().uuid(5), world().uuid(6), world().uuid(7)}),
        Contains(id));
  }
}

TEST_F(NumaMachine, OthersShareWhatNobodyHas) {
  boot(settings(topology::Policy::BestEffort));
  world().plane.create(pinned("a", "4"));
  world().run(Duration::seconds(10));
  world().plane.create(MachineWorld::bound("b").cpu("4"));
  world().run(Duration::seconds(10));
  EXPECT_EQ(cpus("b"), CpuSet());
  const CpuSet shared = CpuSet::parse(facts("b").cpuset_cpus).value();
  EXPECT_THAT(shared, SizeIs(220)) << "reserved CPUs are shared too";
  EXPECT_FALSE(shared.meets(cpus("a")));
  EXPECT_EQ(facts("b").cpuset_mems, "");
}

TEST_F(NumaMachine, OthersMakeRoomWhileTheyRunAndGetItBack) {
  boot(settings(topology::Policy::BestEffort));
  world().plane.create(MachineWorld::bound("b").cpu("4"));
  world().run(Duration::seconds(10));
  EXPECT_EQ(facts("b").cpuset_cpus, "0-223");
  world().plane.create(pinned("a", "4"));
  world().run(Duration::seconds(10));
  const CpuSet shared = CpuSet::parse(facts("b").cpuset_cpus).value();
  EXPECT_THAT(shared, SizeIs(220));
  EXPECT_FALSE(shared.meets(cpus("a")));
  EXPECT_EQ(facts("a").cpuset_cpus, cpus("a").to_string()) << "who has his own stays there";
  world().plane.remove(client::kPods, {"default", "a"});
  world().run(Duration::minutes(1));
  EXPECT_EQ(facts("b").cpuset_cpus, "0-223");
  EXPECT_TRUE(world().machine->agent()->settled());
}

TEST_F(NumaMachine, AfterACrashOthersAreToldAnew) {
  boot(settings(topology::Policy::BestEffort));
  world().plane.create(MachineWorld::bound("b").cpu("4"));
  world().plane.create(pinned("a", "4"));
  world().run(Duration::seconds(10));
  const std::string shared = facts("b").cpuset_cpus;
  world().machine->crash_agent();
  world().plane.remove(client::kPods, {"default", "a"});
  world().machine->start_agent();
  world().run(Duration::minutes(1));
  EXPECT_NE(facts("b").cpuset_cpus, shared);
  EXPECT_EQ(facts("b").cpuset_cpus, "0-223");
}

TEST_F(NumaMachine, WithoutPoliciesNothingIsSaid) {
  boot({});
  world().plane.create(pinned("a", "4").gpus(2));
  world().run(Duration::seconds(10));
  EXPECT_EQ(facts("a").cpuset_cpus, "");
  EXPECT_EQ(facts("a").cpuset_mems, "");
  EXPECT_THAT(decode_checkpoint(*world().machine->disk().bytes())->cpus, IsEmpty());
}

TEST_F(NumaMachine, GpusOnTwoNodesAreTurnedAwayByRestricted) {
  boot(settings(topology::Policy::Restricted));
  world().plane.create(pinned("a", "4").gpus(2).annotation("berth.dev/gpu-indices", "0,4"));
  world().run(Duration::seconds(10));
  EXPECT_EQ(world().phase("a"), "Failed");
  EXPECT_EQ(world().status("a", "reason"), "TopologyAffinityError");
  EXPECT_EQ(world().status("a", "message"),
            "Pod was rejected: Resources cannot be allocated with Topology locality");
  EXPECT_THAT(
      world().events("a"),
      Contains("TopologyAffinityError: Resources cannot be allocated with Topology locality"));
  EXPECT_TRUE(world().machine->agent()->devices().empty());
  EXPECT_THAT(numa().pods(), IsEmpty());
  world().plane.create(MachineWorld::bound("b").gpus(8));
  world().run(Duration::seconds(10));
  EXPECT_EQ(world().phase("b"), "Running") << "two nodes are fine where two are needed";
}

TEST_F(NumaMachine, ScopePodPutsAllContainersOnOneNode) {
  boot(settings(topology::Policy::SingleNumaNode, topology::Scope::Pod));
  world().plane.create(own(own(MachineWorld::bound("a"), "40").gpus(1).container("second"), "40"));
  world().run(Duration::seconds(10));
  ASSERT_EQ(world().phase("a"), "Running") << world().status("a", "message");
  EXPECT_EQ(nodes("a").count(), 1);
  EXPECT_EQ(nodes("a"), nodes("a", "second"));
  world().plane.create(own(own(MachineWorld::bound("b"), "40").container("second"), "80"));
  world().run(Duration::seconds(10));
  EXPECT_EQ(world().status("b", "reason"), "TopologyAffinityError");
  EXPECT_EQ(world().status("b", "message"),
            "Pod was rejected: Pod Scope Resources cannot be allocated with Topology locality");
}

TEST_F(NumaMachine, HalfACoreIsTurnedAwayByFullCoresOnly) {
  topology::Settings full = settings(topology::Policy::BestEffort);
  full.cpu_options.full_pcpus_only = true;
  boot(full);
  world().plane.create(pinned("a", "3"));
  world().run(Duration::seconds(10));
  EXPECT_EQ(world().status("a", "reason"), "SMTAlignmentError");
  EXPECT_EQ(world().status("a", "message"),
            "Pod was rejected: SMT Alignment Error: requested 3 cpus not multiple cpus per core = "
            "2");
  world().plane.create(pinned("b", "4").gpus(1));
  world().run(Duration::seconds(10));
  EXPECT_EQ(world().phase("b"), "Running");
}

TEST_F(NumaMachine, MemoryThatNoNodesHaveTogetherIsAnUnexpectedAdmissionError) {
  topology::Settings memory = settings(topology::Policy::None);
  memory.cpu_policy = topology::CpuPolicy::None;
  boot(memory);
  // Each node serves one pod alone; what both have left may not be put together.
  for (const char* name : {"a", "b", "c"}) {
    world().plane.create(
        MachineWorld::bound(name).extended("cpu", "1").extended("memory", "600Gi"));
    world().run(Duration::seconds(5));
  }
  EXPECT_EQ(facts("a").cpuset_mems, "0");
  EXPECT_EQ(facts("b").cpuset_mems, "1");
  EXPECT_EQ(world().status("c", "reason"), "UnexpectedAdmissionError");
  EXPECT_EQ(world().status("c", "message"),
            "Pod was rejected: Allocate failed due to [memorymanager] failed to get the default "
            "NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected");
}

TEST_F(NumaMachine, AnInitContainerDoesNotSpoilTheNodeOfItsAppContainer) {
  boot(settings(topology::Policy::SingleNumaNode));
  // What the init container takes first elsewhere leaves the app container 108 CPUs on no node.
  world().plane.create(
      own(own(MachineWorld::bound("a").run_for("1h"), "108").gpus(4).init_container("fetch"), "8")
          .image("i"));
  world().run(Duration::seconds(1));
  EXPECT_TRUE(cpus("a").contains(cpus("a", "fetch")));
  EXPECT_THAT(cpus("a", "fetch"), SizeIs(8));
  world().run(Duration::hours(1));
  ASSERT_NE(world().phase("a"), "Failed") << world().status("a", "message");
  EXPECT_THAT(cpus("a"), SizeIs(108));
}

TEST_F(NumaMachine, APodWaitsForWhatADyingOneHas) {
  boot(settings(topology::Policy::SingleNumaNode));
  world().plane.create(pinned("a", "80").annotation("berth.dev/stop-takes", "forever").grace(20));
  world().plane.create(pinned("b", "80"));
  world().run(Duration::seconds(10));
  ASSERT_EQ(world().phase("b"), "Running");
  world().plane.create(pinned("c", "40"));
  world().run(Duration::seconds(5));
  EXPECT_EQ(world().status("c", "reason"), "TopologyAffinityError") << "nobody goes";
  world().plane.remove(client::kPods, {"default", "a"});
  world().run(Duration::seconds(2));
  world().plane.create(pinned("d", "40"));
  world().run(Duration::seconds(5));
  EXPECT_EQ(world().phase("d"), "Pending");
  EXPECT_THAT(world().container("d", 0, "state.waiting.message"),
              HasSubstr("Resources cannot be allocated with Topology locality"));
  world().run(Duration::seconds(30));
  EXPECT_EQ(world().phase("d"), "Running");
}

TEST_F(NumaMachine, WhatAPodHadIsFreeWhenItIsGone) {
  boot(settings(topology::Policy::Restricted));
  const CpuSet idle = numa().cpus().available();
  world().plane.create(pinned("a", "4").gpus(2).restart_policy("Never").run_for("30s"));
  world().run(Duration::seconds(10));
  ASSERT_NE(numa().cpus().available(), idle);
  world().run(Duration::minutes(1));
  ASSERT_EQ(world().phase("a"), "Succeeded");
  EXPECT_EQ(numa().cpus().available(), idle);
  EXPECT_THAT(numa().memory().all(), IsEmpty());
  EXPECT_THAT(decode_checkpoint(*world().machine->disk().bytes())->cpus, IsEmpty());
}

TEST_F(NumaMachine, ARestartedAgentKnowsWhoseCpusTheseAre) {
  boot(settings(topology::Policy::Restricted));
  world().plane.create(pinned("a", "4").gpus(2));
  world().run(Duration::seconds(10));
  const auto before = numa().cpus().all();
  ASSERT_THAT(before, SizeIs(1));
  world().machine->crash_agent();
  world().machine->start_agent();
  EXPECT_EQ(numa().cpus().all(), before) << "from the checkpoint, before anything is listed";
  EXPECT_THAT(numa().memory().all(), SizeIs(1));
  world().run(Duration::seconds(5));
  EXPECT_EQ(numa().cpus().all(), before);
  EXPECT_EQ(world().container("a", 0, "restartCount"), "0");
}

TEST_F(NumaMachine, ALostCheckpointIsMadeUpForByTheContainers) {
  boot(settings(topology::Policy::Restricted));
  world().plane.create(pinned("a", "4").gpus(2));
  world().run(Duration::seconds(10));
  const auto cpus_before = numa().cpus().all();
  const auto memory_before = numa().memory().all();
  world().machine->crash_agent();
  world().machine->disk().corrupt("garbage");
  world().machine->start_agent();
  world().run(Duration::seconds(5));
  EXPECT_EQ(numa().cpus().all(), cpus_before);
  EXPECT_EQ(numa().memory().all(), memory_before);
}

TEST_F(NumaMachine, AStaleCheckpointDoesNotTakeCpusFromWhoRuns) {
  boot(settings(topology::Policy::Restricted));
  world().plane.create(pinned("a", "4"));
  world().run(Duration::seconds(10));
  const std::string old = *world().machine->disk().bytes();
  world().plane.remove(client::kPods, {"default", "a"}, {.grace_period_seconds = 0});
  world().run(Duration::seconds(5));
  world().plane.create(pinned("b", "6"));
  world().run(Duration::seconds(10));
  const CpuSet before = cpus("b");
  ASSERT_THAT(before, SizeIs(6));
  world().machine->crash_agent();
  world().machine->disk().corrupt(old);
  world().machine->start_agent();
  world().run(Duration::seconds(5));
  EXPECT_EQ(cpus("b"), before);
  EXPECT_THAT(numa().pods(), ElementsAre(uid("b")));
  EXPECT_THAT(world().machine->broken_invariants(), IsEmpty());
}

TEST_F(NumaMachine, AfterARebootPodsComeBackOnTheirCpus) {
  boot(settings(topology::Policy::Restricted));
  world().plane.create(pinned("a", "4").gpus(2));
  world().run(Duration::seconds(10));
  const auto before = numa().cpus().all();
  world().machine->power_off();
  world().run(Duration::seconds(30));
  world().machine->power_on();
  world().run(Duration::seconds(30));
  ASSERT_EQ(world().phase("a"), "Running") << world().status("a", "message");
  EXPECT_EQ(numa().cpus().all(), before);
  EXPECT_EQ(facts("a").cpuset_cpus, before[0].cpus.to_string());
}

// The agent dies at every step of the lives of three pods: nobody's CPUs are another's, and all end
// as they should.
TEST_F(NumaMachine, TheAgentMayDieAtEveryStep) {
  set_log_level(LogLevel::Off);
  for (int at = 1; at < 160 && !HasFailure(); at += 3) {
    SCOPED_TRACE(fmt::format("agent dies after event {}", at));
    boot(settings(topology::Policy::Restricted));
    world().plane.create(own(own(MachineWorld::bound("a"), "6")
                                 .gpus(2)
                                 .restart_policy("Never")
                                 .run_for("40s")
                                 .init_container("fetch"),
                             "8")
                             .image("i"));
    world().plane.create(pinned("b", "4").gpus(2).run_for("24h"));
    world().plane.create(MachineWorld::bound("c").cpu("1").run_for("24h"));
    const TimePoint end = world().plane.loop.now() + Duration::minutes(30);
    for (int event = 1; world().plane.loop.next() <= end && world().plane.loop.step(); ++event) {
      ASSERT_THAT(world().machine->broken_invariants(), IsEmpty());
      if (event == at) {
        world().machine->crash_agent();
        world().machine->start_agent();
      }
    }
    EXPECT_EQ(world().phase("a"), "Succeeded");
    EXPECT_EQ(world().phase("b"), "Running");
    EXPECT_EQ(world().phase("c"), "Running");
    EXPECT_EQ(world().container("b", 0, "restartCount"), "0");
    EXPECT_THAT(numa().pods(), ElementsAre(uid("b")));
    EXPECT_THAT(cpus("b"), SizeIs(4));
    EXPECT_TRUE(world().machine->agent()->settled());
  }
  set_log_level(LogLevel::Warn);
}

TEST_F(NumaMachine, OnAGb200TrayAPodIsAdmittedLikeAnywhereElse) {
  boot(settings(topology::Policy::SingleNumaNode), "gb200-nvl72");
  world().plane.create(pinned("a", "8").gpus(2));
  world().run(Duration::seconds(10));
  ASSERT_EQ(world().phase("a"), "Running") << world().status("a", "message");
  EXPECT_EQ(nodes("a").count(), 1);
}

} // namespace
} // namespace berth::node
