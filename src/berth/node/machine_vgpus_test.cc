// HAMi's vGPUs on a whole simulated machine: what is registered, what containers see, what is
// refused, what outlasts crashes.
#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/model/hami.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

namespace hami = model::hami;
namespace json = boost::json;
using test::MachineWorld;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

MachineWorld vgpu_world(const HamiSettings& settings = {}, std::string_view platform = "dgx-h100") {
  return MachineWorld(1, platform, {}, settings);
}

/// A pod as the scheduler binds it: "3,NVIDIA,4000,30:;", with GPUs by index.
test::PodBuilder given(std::string_view name, std::string_view shares, int gpus = 1) {
  test::PodBuilder builder = MachineWorld::bound(name);
  std::string text;
  for (std::string_view rest = shares; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find_first_of(":;") + 1);
    rest.remove_prefix(entry.size());
    const std::size_t comma = entry.find(',');
    text += comma == std::string_view::npos
                ? std::string(entry)
                : hardware::gpu_uuid("n1", std::stoi(std::string(entry.substr(0, comma)))) +
                      std::string(entry.substr(comma));
  }
  return builder.limit("nvidia.com/gpu", fmt::to_string(gpus))
      .limit(hami::kMemory, "4000")
      .annotation(hami::kToAllocate, text)
      .annotation(hami::kAllocated, text)
      .annotation(hami::kBindPhase, "allocating");
}

std::string annotation(const api::Object& object, std::string_view key) {
  const auto it = object.meta().annotations.find(key);
  return it == object.meta().annotations.end() ? "absent" : it->second;
}

class MachineVgpus : public ::testing::Test {
 protected:
  MachineVgpus() { set_log_level(LogLevel::Off); }
  ~MachineVgpus() override { set_log_level(LogLevel::Warn); }
};

TEST_F(MachineVgpus, AreRegisteredAsHamisDevicePluginDoes) {
  const MachineWorld world =
      vgpu_world({.split_count = 4, .memory_permille = 1500, .cores_permille = 2000});
  EXPECT_EQ(world.allocatable("nvidia.com/gpu"), "32");
  EXPECT_EQ(world.capacity("nvidia.com/gpu"), "32");
  const auto view = model::node_view(world.node());
  ASSERT_TRUE(view);
  const auto devices = hami::devices_of(**view);
  ASSERT_THAT(devices, SizeIs(8));
  EXPECT_EQ(devices[5], (hami::Device{.uuid = world.uuid(5),
                                      .count = 4,
                                      .memory = 122'338, // one and a half times 81559
                                      .cores = 200,
                                      .type = "NVIDIA H100 80GB HBM3",
                                      .numa = 1,
                                      .index = 5}));
  EXPECT_THAT(annotation(world.node(), hami::kHandshake), HasSubstr("Reported_"));
  EXPECT_EQ(model::shareable_gpus(**view).gpus, 0) << "no parts beside vGPUs";
}

TEST_F(MachineVgpus, ASchedulerThatAsksIsAnswered) {
  MachineWorld world = vgpu_world();
  world.run(Duration::minutes(1));
  world.plane.patch(
      client::kNodes, {"", "n1"},
      json::value{
          {"metadata", {{"annotations", {{hami::kHandshake, "Requesting_2026.01.01 00:00:00"}}}}}});
  world.run(Duration::seconds(15));
  EXPECT_THAT(annotation(world.node(), hami::kHandshake), HasSubstr("Reported_"));
}

TEST_F(MachineVgpus, TwoContainersShareAGpuAndAreToldTheirLimits) {
  MachineWorld world = vgpu_world();
  world.plane.create(given("a", "3,NVIDIA,4000,30:6,NVIDIA,4000,30:;", 2));
  world.plane.create(given("b", "3,NVIDIA,2500,0:;"));
  world.run(Duration::seconds(10));
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(world.phase(name), "Running");
    EXPECT_EQ(annotation(world.stored(name), hami::kBindPhase), "success");
  }
  const auto a = world.machine->runtime().facts(world.stored("a").meta().uid);
  ASSERT_THAT(a, SizeIs(1));
  EXPECT_THAT(a[0].env,
              Contains(Pair("NVIDIA_VISIBLE_DEVICES", world.uuid(3) + "," + world.uuid(6))));
  EXPECT_THAT(a[0].env, Contains(Pair("CUDA_DEVICE_MEMORY_LIMIT_0", "4000m")));
  EXPECT_THAT(a[0].env, Contains(Pair("CUDA_DEVICE_MEMORY_LIMIT_1", "4000m")));
  EXPECT_THAT(a[0].env, Contains(Pair("CUDA_DEVICE_SM_LIMIT", "30")));
  const auto b = world.machine->runtime().facts(world.stored("b").meta().uid);
  ASSERT_THAT(b, SizeIs(1));
  EXPECT_THAT(b[0].env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", world.uuid(3))));
  EXPECT_THAT(b[0].env, Contains(Pair("CUDA_DEVICE_MEMORY_LIMIT_0", "2500m")));
  EXPECT_THAT(b[0].env, Not(Contains(Key("CUDA_DEVICE_MEMORY_LIMIT_1"))));
  EXPECT_THAT(world.machine->broken_invariants(), IsEmpty());
  EXPECT_TRUE(world.machine->agent()->settled());
}

TEST_F(MachineVgpus, MorePodsThanGpusRunWhereTheyMay) {
  MachineWorld world = vgpu_world({}, "t4-pcie-1");
  for (int i = 0; i < 10; ++i) {
    world.plane.create(given(fmt::format("p{}", i), "0,NVIDIA,1000,10:;"));
  }
  world.run(Duration::seconds(30));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(world.phase(fmt::format("p{}", i)), "Running") << i;
  }
  world.plane.create(given("more", "0,NVIDIA,1000,0:;"));
  world.run(Duration::seconds(10));
  EXPECT_EQ(world.phase("more"), "Failed");
  EXPECT_EQ(world.status("more", "reason"), "OutOfnvidia.com/gpu") << "as a kubelet counts";
}

struct Refusal {
  std::string name;
  test::PodBuilder pod;
  std::string message;
};
std::ostream& operator<<(std::ostream& out, const Refusal& each) {
  return out << each.name;
}
class MachineVgpusRefuse : public MachineVgpus, public ::testing::WithParamInterface<Refusal> {};

TEST_P(MachineVgpusRefuse, AndSayWhy) {
  MachineWorld world = vgpu_world({.split_count = 2});
  world.plane.create(given("first", "3,NVIDIA,70000,60:;"));
  world.plane.create(given("alone", "4,NVIDIA,1000,100:;"));
  world.plane.create(given("two", "5,NVIDIA,1000,0:;5,NVIDIA,1000,0:;")
                         .container("more")
                         .limit("nvidia.com/gpu", "1"));
  world.run(Duration::seconds(10));
  world.plane.create(GetParam().pod);
  world.run(Duration::seconds(10));
  EXPECT_EQ(world.phase("first"), "Running");
  EXPECT_EQ(world.phase("two"), "Running");
  EXPECT_EQ(world.phase("p"), "Failed");
  EXPECT_EQ(world.status("p", "reason"), "UnexpectedAdmissionError");
  EXPECT_THAT(world.status("p", "message"), HasSubstr(GetParam().message));
  EXPECT_THAT(annotation(world.stored("p"), hami::kBindPhase),
              ::testing::AnyOf("failed", "absent"));
  EXPECT_THAT(world.held_by("p"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    What, MachineVgpusRefuse,
    ::testing::Values(
        Refusal{"MemoryThatIsGone", given("p", "3,NVIDIA,20000,0:;"),
                "has 11559 MiB left for 20000 MiB"},
        Refusal{"CoresThatAreGone", given("p", "3,NVIDIA,1000,50:;"),
                "40% of the cores left for 1000 MiB and 50% of the cores"},
        Refusal{"AGpuThatIsAnothersAlone", given("p", "4,NVIDIA,1000,0:;"), "is another's alone"},
        Refusal{"OneMoreThanMayShare", given("p", "5,NVIDIA,1000,0:;"),
                "is shared by 2 containers, as many as may be"},
        Refusal{"AGpuOfAnotherNode", given("p", "9,NVIDIA,1000,0:;"),
                "which this node does not have"},
        Refusal{"AGpuTwice", given("p", "1,NVIDIA,1000,0:1,NVIDIA,1000,0:;", 2),
                "which it has already"},
        Refusal{"AnotherNumber", given("p", "1,NVIDIA,1000,0:;", 2), "but it asks for 2"},
        Refusal{"PartsBesideVgpus", MachineWorld::bound("p").annotation("gpu-fraction", "0.5"),
                "the node gives its GPUs as HAMi's vGPUs"},
        Refusal{"NoChoice", MachineWorld::bound("p").limit("nvidia.com/gpu", "1"),
                "no vGPUs were chosen for the pod"}),
    [](const auto& each) { return each.param.name; });

TEST_F(MachineVgpus, WhatADyingPodHasIsWaitedFor) {
  MachineWorld world = vgpu_world();
  world.plane.create(given("old", "3,NVIDIA,70000,0:;").annotation("berth.dev/stop-takes", "20s"));
  world.run(Duration::seconds(10));
  world.plane.remove(client::kPods, {"default", "old"});
  world.plane.create(given("new", "3,NVIDIA,70000,0:;"));
  world.run(Duration::seconds(5));
  EXPECT_EQ(world.phase("new"), "Pending");
  world.run(Duration::seconds(60));
  EXPECT_EQ(world.phase("new"), "Running");
  EXPECT_EQ(annotation(world.stored("new"), hami::kBindPhase), "success");
}

TEST_F(MachineVgpus, TheLockOfAPodThatHasItsOwnIsReleased) {
  MachineWorld world = vgpu_world();
  const auto lock = [&](std::string_view text) {
    world.plane.patch(client::kNodes, {"", "n1"},
                      json::value{{"metadata", {{"annotations", {{hami::kLock, text}}}}}});
  };
  lock("2026-01-01T00:00:00Z,default,a");
  world.run(Duration::seconds(30));
  EXPECT_EQ(annotation(world.node(), hami::kLock), "2026-01-01T00:00:00Z,default,a");
  world.plane.create(given("a", "3,NVIDIA,4000,30:;"));
  world.run(Duration::seconds(30));
  EXPECT_EQ(annotation(world.node(), hami::kLock), "absent");
  lock("2026-01-01T00:00:00Z,default,b");
  world.plane.create(given("b", "3,NVIDIA,90000,0:;"));
  world.run(Duration::seconds(30));
  EXPECT_EQ(world.phase("b"), "Failed");
  EXPECT_EQ(annotation(world.node(), hami::kLock), "absent");
}

TEST_F(MachineVgpus, ASickGpuIsRegisteredAsSuch) {
  MachineWorld world = vgpu_world();
  world.plane.create(given("a", "3,NVIDIA,4000,0:;"));
  world.run(Duration::seconds(10));
  ASSERT_TRUE(world.machine->inventory().xid(3, 79));
  world.run(Duration::seconds(20));
  const auto devices = hami::devices_of(**model::node_view(world.node()));
  ASSERT_THAT(devices, SizeIs(8));
  for (const hami::Device& device : devices) {
    EXPECT_EQ(device.healthy, device.index != 3);
  }
  EXPECT_EQ(world.allocatable("nvidia.com/gpu"), "70");
  EXPECT_THAT(world.events("a"), Contains(HasSubstr("is unhealthy")));
}

// GPUs 0 to 3 are on node 0, the others on node 1.
TEST_F(MachineVgpus, AreAlignedWithNumaNodesContainerByContainerAndAsAPod) {
  for (const auto scope : {topology::Scope::Container, topology::Scope::Pod}) {
    topology::Settings numa;
    numa.alignment.policy = topology::Policy::SingleNumaNode;
    numa.alignment.scope = scope;
    MachineWorld world(1, "dgx-h100", numa, HamiSettings());
    world.plane.create(given("wide", "0,NVIDIA,1000,0:5,NVIDIA,1000,0:;", 2));
    world.plane.create(given("narrow", "0,NVIDIA,1000,0:1,NVIDIA,1000,0:;", 2));
    world.plane.create(given("apart", "0,NVIDIA,1000,0:;5,NVIDIA,1000,0:;")
                           .container("more")
                           .limit("nvidia.com/gpu", "1"));
    world.run(Duration::seconds(20));
    EXPECT_EQ(world.phase("narrow"), "Running");
    EXPECT_EQ(world.status("wide", "reason"), "TopologyAffinityError");
    EXPECT_EQ(world.status("apart", "reason"),
              scope == topology::Scope::Pod ? "TopologyAffinityError" : "");
    EXPECT_THAT(world.machine->broken_invariants(), IsEmpty());
  }
}

// Two on a GPU, one who waits for the room of the pod that ends, and one after its init container.
void live(MachineWorld& world, std::size_t at, const std::function<void()>& disturb) {
  std::size_t event = 0;
  const TimePoint start = world.plane.loop.now();
  world.plane.create(given("brief", "3,NVIDIA,50000,0:;").restart_policy("Never").run_for("15s"));
  world.plane.create(given("stays", "3,NVIDIA,30000,50:;"));
  world.plane.create(given("other", "2,NVIDIA,30000,50:4,NVIDIA,20000,50:;", 2));
  while (world.plane.loop.next() <= start + Duration::minutes(4) && world.plane.loop.step()) {
    ASSERT_THAT(world.machine->broken_invariants(), IsEmpty());
    if (++event == at) {
      disturb();
    }
  }
  EXPECT_EQ(world.phase("brief"), "Succeeded");
  EXPECT_EQ(world.phase("stays"), "Running");
  EXPECT_EQ(annotation(world.stored("stays"), hami::kBindPhase), "success");
  EXPECT_EQ(world.container("stays", 0, "restartCount"), "0");
  EXPECT_THAT(world.held_by("stays"), ElementsAre(world.uuid(3)));
  const Holding* other =
      world.machine->agent()->devices().of_pod(world.stored("other").meta().uid).front();
  ASSERT_TRUE(other->part);
  EXPECT_EQ(other->part->of(world.uuid(2)).memory, std::int64_t{30000} << 20);
  EXPECT_EQ(other->part->of(world.uuid(4)).memory, std::int64_t{20000} << 20);
  EXPECT_EQ(other->part->of(world.uuid(4)).cores, 50);
}

TEST_F(MachineVgpus, OutlastAnAgentThatDiesAtAnyStepWithAndWithoutItsCheckpoint) {
  for (std::size_t at = 1; at <= 160 && !HasFailure(); at += 3) {
    SCOPED_TRACE("agent dies after event " + std::to_string(at));
    MachineWorld world = vgpu_world();
    live(world, at, [&] {
      world.machine->crash_agent();
      if (at % 2 == 0) {
        world.machine->disk().corrupt("berth-checkpoint/1");
      }
      world.machine->start_agent();
    });
  }
}

TEST_F(MachineVgpus, AnAgentThatNoLongerSharesTakesItsRegistrationBack) {
  MachineWorld world = vgpu_world();
  ASSERT_NE(annotation(world.node(), hami::kRegister), "absent");
  world.plane.patch(
      client::kNodes, {"", "n1"},
      json::value{{"metadata", {{"annotations", {{hami::kLock, "2026,default,a"}}}}}});
  world.machine.reset();
  const MachineOptions plain{.name = "n1",
                             .platform = hardware::Catalogue::builtin().find("dgx-h100")};
  world.machine = std::make_unique<SimulatedMachine>(world.plane.loop, world.line, plain);
  world.machine->power_on();
  world.run(Duration::seconds(30));
  for (const std::string_view key :
       {hami::kRegister, hami::kHandshake, hami::kLock, hami::kRegisteredBy}) {
    EXPECT_EQ(annotation(world.node(), key), "absent") << key;
  }
  EXPECT_EQ(world.allocatable("nvidia.com/gpu"), "8") << "GPUs are whole again";
}

TEST_F(MachineVgpus, WhatHamisOwnPluginRegisteredStays) {
  MachineWorld world;
  world.plane.patch(client::kNodes, {"", "n1"},
                    json::value{{"metadata", {{"annotations", {{hami::kRegister, "theirs"}}}}}});
  world.run(Duration::minutes(1));
  EXPECT_EQ(annotation(world.node(), hami::kRegister), "theirs");
}

} // namespace
} // namespace berth::node
