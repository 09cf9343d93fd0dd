// Whole lives of a machine under faults: the agent (or the plugin) dies at every step of its pods'
// lives, and random histories of pods, crashes, Xids and a bad line to the API, with the machine's
// rules checked after every event.
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
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Quiet : public ::testing::Test {
 protected:
  Quiet() { set_log_level(LogLevel::Off); }
  ~Quiet() override { set_log_level(LogLevel::Warn); }
};

// Four pods that between them go every way a pod can go.
void create_pods(MachineWorld& world) {
  world.plane.create(MachineWorld::bound("train")
                         .gpus(4)
                         .restart_policy("Never")
                         .run_for("40s")
                         .init_container("fetch")
                         .image("i")
                         .gpus(4)
                         .sidecar("log")
                         .image("i"));
  world.plane.create(MachineWorld::bound("serve").gpus(2));
  world.plane.create(MachineWorld::bound("flaky")
                         .gpus(1)
                         .run_for("3s")
                         .restart_policy("OnFailure")
                         .annotation("berth.dev/fail-times", "2"));
  world.plane.create(MachineWorld::bound("brief").gpus(1));
}

// Runs events up to `end`; false, with the failure recorded, at the first broken rule.
bool run_checked(MachineWorld& world, TimePoint end, const std::function<void()>& after_each = {}) {
  while (world.plane.loop.next() <= end && world.plane.loop.step()) {
    const auto broken = world.machine->broken_invariants();
    if (!broken.empty()) {
      ADD_FAILURE() << broken.front();
      return false;
    }
    if (after_each) {
      after_each();
    }
  }
  world.plane.loop.run_until(end);
  return true;
}

// The life of the four pods with `disturb` called after the event number `at`. Ends long after
// every fault.
void live(MachineWorld& world, std::size_t at, const std::function<void()>& disturb) {
  std::size_t event = 0;
  const TimePoint start = world.plane.loop.now();
  create_pods(world);
  const auto count = [&] {
    if (++event == at) {
      disturb();
    }
  };
  ASSERT_TRUE(run_checked(world, start + Duration::seconds(20), count));
  world.plane.remove(client::kPods, {"default", "brief"});
  ASSERT_TRUE(run_checked(world, start + Duration::minutes(5), count));
}

void expect_healthy_end(MachineWorld& world) {
  EXPECT_EQ(world.phase("train"), "Succeeded");
  EXPECT_EQ(world.phase("serve"), "Running");
  EXPECT_EQ(world.phase("flaky"), "Succeeded");
  EXPECT_EQ(world.container("flaky", 0, "restartCount"), "2");
  EXPECT_EQ(world.container("serve", 0, "restartCount"), "0");
  EXPECT_EQ(world.phase("brief"), "gone");
  EXPECT_EQ(world.held_by("serve").size(), 2u);
  EXPECT_EQ(world.machine->agent()->devices().held("nvidia.com/gpu").size(), 2u);
  EXPECT_THAT(world.machine->runtime().running(), SizeIs(1));
  EXPECT_EQ(world.allocatable("nvidia.com/gpu"), "8");
  EXPECT_TRUE(world.machine->agent()->settled())
      << ::testing::PrintToString(world.machine->agent()->in_motion());
}

std::size_t events_of_a_life() {
  MachineWorld world;
  std::size_t events = 0;
  create_pods(world);
  run_checked(world, world.plane.loop.now() + Duration::seconds(60), [&] { ++events; });
  return events;
}

class EveryStep : public Quiet {};

TEST_F(EveryStep, TheAgentMayDie) {
  const std::size_t events = events_of_a_life();
  ASSERT_GT(events, 100u);
  for (std::size_t at = 1; at <= events && !HasFailure(); at += 2) {
    SCOPED_TRACE(fmt::format("agent dies after event {} of {}", at, events));
    MachineWorld world;
    live(world, at, [&] {
      world.machine->crash_agent();
      world.machine->start_agent();
    });
    expect_healthy_end(world);
  }
}

TEST_F(EveryStep, TheAgentMayStayAway) {
  const std::size_t events = events_of_a_life();
  for (std::size_t at = 1; at <= events && !HasFailure(); at += 11) {
    SCOPED_TRACE(fmt::format("agent dies for 7 s after event {} of {}", at, events));
    MachineWorld world;
    live(world, at, [&] {
      world.machine->crash_agent();
      world.plane.loop.after(Duration::seconds(7), [&] { world.machine->start_agent(); });
    });
    expect_healthy_end(world);
  }
}

TEST_F(EveryStep, TheAgentMayDieWithItsCheckpoint) {
  const std::size_t events = events_of_a_life();
  for (std::size_t at = 1; at <= events && !HasFailure(); at += 11) {
    SCOPED_TRACE(fmt::format("agent and checkpoint die after event {} of {}", at, events));
    MachineWorld world;
    live(world, at, [&] {
      world.machine->crash_agent();
      world.machine->disk().corrupt("berth-checkpoint/1");
      world.machine->start_agent();
    });
    expect_healthy_end(world);
  }
}

TEST_F(EveryStep, ThePluginMayDie) {
  const std::size_t events = events_of_a_life();
  for (std::size_t at = 1; at <= events && !HasFailure(); at += 11) {
    SCOPED_TRACE(fmt::format("plugin dies after event {} of {}", at, events));
    MachineWorld world;
    live(world, at, [&] {
      world.machine->crash_plugin();
      world.plane.loop.after(Duration::seconds(4), [&] { world.machine->start_plugin(); });
    });
    expect_healthy_end(world);
  }
}

TEST_F(EveryStep, TheLineMayBreak) {
  const std::size_t events = events_of_a_life();
  for (std::size_t at = 1; at <= events && !HasFailure(); at += 11) {
    SCOPED_TRACE(fmt::format("the line breaks after event {} of {}", at, events));
    MachineWorld world;
    live(world, at, [&] {
      world.line.disconnect();
      world.plane.loop.after(Duration::seconds(15), [&] { world.line.reconnect(); });
    });
    expect_healthy_end(world);
  }
}

class Seeds : public Quiet, public ::testing::WithParamInterface<int> {};

// One random act; what can be undone is undone some time later.
void act(MachineWorld& world, Rng& rng, int number) {
  VirtualLoop& loop = world.plane.loop;
  const Duration soon = Duration::millis(rng.between(1, 20'000));
  const std::string name = fmt::format("p{}", number);
  const auto all = world.plane.names(client::kPods);
  const std::string some = all.empty() ? "" : all[rng.below(all.size())];
  switch (rng.below(12)) {
  case 0:
  case 1:
  case 2:
  case 3:
    world.plane.create(MachineWorld::bound(name)
                           .gpus(static_cast<int>(rng.between(1, 4)))
                           .restart_policy(rng.chance(1, 2) ? "Never" : "OnFailure")
                           .run_for(fmt::format("{}s", rng.between(1, 60)))
                           .annotation("berth.dev/fail-times", fmt::to_string(rng.below(3))));
    return;
  case 4:
    if (!some.empty()) {
      world.plane.remove(client::kPods, {"default", some});
    }
    return;
  case 5:
    if (!some.empty()) {
      world.plane.remove(client::kPods, {"default", some}, {.grace_period_seconds = 0});
    }
    return;
  case 6:
    world.machine->crash_agent();
    loop.after(rng.chance(1, 2) ? Duration() : soon, [&] { world.machine->start_agent(); });
    return;
  case 7:
    world.machine->crash_plugin();
    loop.after(soon, [&] { world.machine->start_plugin(); });
    return;
  case 8: {
    const int gpu = static_cast<int>(rng.below(8));
    const int codes[] = {13, 48, 79, 63, 94};
    EXPECT_TRUE(world.machine->inventory().xid(gpu, codes[rng.below(5)]));
    loop.after(soon * 3, [&world, gpu] { EXPECT_TRUE(world.machine->inventory().repair(gpu)); });
    return;
  }
  case 9:
    world.line.disconnect();
    loop.after(soon, [&] { world.line.reconnect(); });
    return;
  case 10:
    world.machine->disk().crash_next_write(
        {.at = MemoryCheckpointStore::CrashAt::Byte, .byte = rng.below(64)});
    return;
  case 11:
    world.machine->power_off();
    loop.after(soon, [&] { world.machine->power_on(); });
    return;
  default:
    return;
  }
}

TEST_P(Seeds, AnyHistoryEndsWell) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  MachineWorld world(seed);
  world.line.set_faults(
      {.longest_delay = Duration::millis(static_cast<std::int64_t>(rng.below(200))),
       .conflict_permille = 50,
       .lost_permille = 30,
       .unanswered_permille = 30,
       .failed_read_permille = 30,
       .duplicate_permille = 50,
       .reorder_permille = 50,
       .lose_permille = 10,
       .expire_permille = 10});
  for (int number = 0; number < 40; ++number) {
    act(world, rng, number);
    ASSERT_TRUE(
        run_checked(world, world.plane.loop.now() + Duration::millis(rng.between(0, 8000))));
  }
  // Peace: everything that was broken comes back, and everything ends.
  world.line.set_faults({});
  world.line.reconnect();
  ASSERT_TRUE(run_checked(world, world.plane.loop.now() + Duration::minutes(2)));
  world.machine->power_on();
  world.machine->start_agent();
  world.machine->start_plugin();
  for (int gpu = 0; gpu < 8; ++gpu) {
    ASSERT_TRUE(world.machine->inventory().repair(gpu));
  }
  ASSERT_TRUE(run_checked(world, world.plane.loop.now() + Duration::minutes(20)));
  EXPECT_TRUE(world.machine->agent()->settled())
      << ::testing::PrintToString(world.machine->agent()->in_motion());
  for (const api::Object& each : world.plane.all(client::kPods)) {
    EXPECT_TRUE((*model::pod_view(each))->terminal()) << each.bytes();
  }
  EXPECT_TRUE(world.machine->agent()->devices().empty());
  EXPECT_THAT(world.machine->runtime().running(), IsEmpty());
  EXPECT_EQ(world.allocatable("nvidia.com/gpu"), "8");
  EXPECT_TRUE((*model::node_view(world.node()))->ready());
  for (const std::string& name : world.plane.names(client::kPods)) {
    world.plane.remove(client::kPods, {"default", name});
  }
  ASSERT_TRUE(run_checked(world, world.plane.loop.now() + Duration::minutes(1)));
  EXPECT_THAT(world.plane.names(client::kPods), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Histories, Seeds, ::testing::Range(1, 61));

} // namespace
} // namespace berth::node
