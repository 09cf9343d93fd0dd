// Parts of GPUs on a whole simulated machine: what containers see, what is refused, what outlasts
// crashes.
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/model/gpu_share.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using test::MachineWorld;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

test::PodBuilder part(std::string_view name, std::string_view fraction, std::string_view gpu) {
  test::PodBuilder builder = MachineWorld::bound(name);
  return builder.annotation(model::kGpuFraction, fraction).annotation(model::kGpuIndex, gpu);
}

class MachineParts : public test::MachineFixture {
 protected:
  MachineParts() { set_log_level(LogLevel::Off); }
  ~MachineParts() override { set_log_level(LogLevel::Warn); }
};

TEST_F(MachineParts, TwoPodsSeeOneGpuAndNoOther) {
  plane.create(part("a", "0.5", "3"));
  plane.create(part("b", "0.5", "3"));
  run(Duration::seconds(10));
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(phase(name), "Running");
    EXPECT_THAT(held_by(name), ElementsAre(uuid(3)));
    const auto facts = machine->runtime().facts(stored(name).meta().uid);
    ASSERT_THAT(facts, SizeIs(1));
    EXPECT_THAT(facts[0].env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", uuid(3))));
    EXPECT_THAT(facts[0].env, Contains(Pair("GPU_PORTION", "0.5")));
    int gpus = 0;
    for (const runtime::DeviceNode& device : facts[0].devices) {
      gpus += device.major == 195 && device.minor < 8 ? 1 : 0;
      EXPECT_TRUE(device.minor == 3 || device.minor > 8 || device.major != 195) << device.path;
    }
    EXPECT_EQ(gpus, 1);
  }
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
}

TEST_F(MachineParts, ChosenOnStaleNewsAPodIsTurnedAwayAndToldWhy) {
  plane.create(part("a", "0.7", "3"));
  run(Duration::seconds(10));
  plane.create(part("b", "0.4", "3"));
  plane.create(MachineWorld::bound("c").gpus(1).annotation(model::kGpuIndicesAnnotation, "3"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("b"), "Failed");
  EXPECT_EQ(status("b", "reason"), "UnexpectedAdmissionError");
  EXPECT_THAT(status("b", "message"), HasSubstr("has 300 thousandths left for 400 thousandths"));
  EXPECT_EQ(phase("c"), "Failed");
  EXPECT_EQ(status("c", "reason"), "UnexpectedAdmissionError");
}

TEST_F(MachineParts, MemoryIsTheLabelsAsForTheScheduler) {
  auto most = MachineWorld::bound("a");
  most.annotation(model::kGpuMemoryMib, "60000").annotation(model::kGpuIndex, "0");
  auto more = MachineWorld::bound("b");
  more.annotation(model::kGpuMemoryMib, "30000").annotation(model::kGpuIndex, "0");
  plane.create(most);
  plane.create(more);
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(phase("b"), "Failed");
  EXPECT_THAT(status("b", "message"), HasSubstr("21559 MiB left for 30000 MiB")); // of 81559
}

TEST_F(MachineParts, ASickGpuIsSaidOfEveryPodThatHasAPartOfIt) {
  plane.create(part("a", "0.5", "3"));
  plane.create(part("b", "0.5", "3"));
  run(Duration::seconds(10));
  ASSERT_TRUE(machine->inventory().xid(3, 79));
  run(Duration::seconds(10));
  for (const char* name : {"a", "b"}) {
    EXPECT_THAT(events(name), Contains(HasSubstr("is unhealthy"))) << name;
  }
  EXPECT_THAT(events("n1"), Contains(HasSubstr("GpuUnhealthy: GPU 3")));
}

// Two halves of a GPU, a whole one, and one who waits for the half of the pod that ends.
void live(MachineWorld& world, std::size_t at, const std::function<void()>& disturb) {
  std::size_t event = 0;
  const TimePoint start = world.plane.loop.now();
  world.plane.create(part("brief", "0.5", "3").restart_policy("Never").run_for("15s"));
  world.plane.create(part("stays", "0.5", "3"));
  world.plane.create(MachineWorld::bound("whole").gpus(1).annotation("berth.dev/gpu-indices", "4"));
  while (world.plane.loop.next() <= start + Duration::minutes(4) && world.plane.loop.step()) {
    const auto broken = world.machine->broken_invariants();
    ASSERT_THAT(broken, IsEmpty());
    if (++event == at) {
      disturb();
    }
  }
  EXPECT_EQ(world.phase("brief"), "Succeeded");
  EXPECT_EQ(world.phase("stays"), "Running");
  EXPECT_EQ(world.container("stays", 0, "restartCount"), "0");
  EXPECT_THAT(world.held_by("stays"), ElementsAre(world.uuid(3)));
  EXPECT_EQ(world.machine->agent()->devices().held("nvidia.com/gpu").size(), 2u);
  const Holding* held =
      world.machine->agent()->devices().of_pod(world.stored("stays").meta().uid).front();
  EXPECT_EQ(held->part.value_or(GpuParts()).each.milli, 500);
}

TEST_F(MachineParts, OutlastAnAgentThatDiesAtAnyStepWithAndWithoutItsCheckpoint) {
  for (std::size_t at = 1; at <= 160 && !HasFailure(); at += 3) {
    SCOPED_TRACE("agent dies after event " + std::to_string(at));
    MachineWorld world;
    live(world, at, [&] {
      world.machine->crash_agent();
      if (at % 2 == 0) {
        world.machine->disk().corrupt("berth-checkpoint/1");
      }
      world.machine->start_agent();
    });
  }
}

} // namespace
} // namespace berth::node
