#include "berth/node/simulated_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Machine : public test::MachineFixture {};

TEST_F(Machine, RegistersItsNodeWithItsGpus) {
  ASSERT_TRUE(node());
  EXPECT_EQ(capacity("nvidia.com/gpu"), "8");
  EXPECT_EQ(allocatable("nvidia.com/gpu"), "8");
  EXPECT_TRUE((*model::node_view(node()))->ready());
  EXPECT_TRUE(machine->agent()->settled());
}

TEST_F(Machine, RunsAPodToItsEnd) {
  plane.create(bound("a").gpus(2).restart_policy("Never").annotation("berth.dev/run-for", "1m"));
  run(Duration::seconds(10));
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(held_by("a").size(), 2u);
  run(Duration::minutes(2));
  EXPECT_EQ(phase("a"), "Succeeded");
  EXPECT_THAT(held_by("a"), IsEmpty());
  EXPECT_THAT(machine->broken_invariants(), IsEmpty());
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
}

} // namespace
} // namespace berth::node
