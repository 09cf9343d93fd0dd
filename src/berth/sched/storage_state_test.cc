#include "berth/sched/storage_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/sched/decider.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::attachment;
using test::claim;
using test::node;
using test::pod;
using test::SchedulingWorld;
using test::storage_class;
using test::volume;

TEST(StorageState, EveryChangeOfStorageCountsAsAChange) {
  ClusterState state;
  const std::uint64_t before = state.version();
  state.change_storage().set_claim(claim("c").build());
  EXPECT_GT(state.version(), before);
}

TEST(StorageState, ForgetsWhatIsRemoved) {
  StorageState storage;
  storage.set_claim(claim("c").build());
  storage.set_volume(volume("v").build());
  storage.set_class(storage_class("s").build());
  storage.set_csi_node(test::csi_node("n").build());
  storage.set_csi_driver(test::csi_driver("d").build());
  storage.set_capacity(test::capacity("x", "s").build());
  EXPECT_EQ(storage.capacities_of("s").size(), 1U);
  EXPECT_EQ(storage.capacities_of("t").size(), 0U);
  EXPECT_NE(storage.claim({"default", "c"}), nullptr);
  EXPECT_NE(storage.volume("v"), nullptr);
  EXPECT_NE(storage.storage_class("s"), nullptr);
  EXPECT_NE(storage.csi_node("n"), nullptr);
  storage.remove_claim({"default", "c"});
  storage.remove_volume("v");
  storage.remove_class("s");
  storage.remove_csi_node("n");
  storage.remove_csi_driver("d");
  storage.remove_capacity({"default", "x"});
  EXPECT_EQ(storage.dump(), "");
  EXPECT_EQ(storage.claim({"default", "c"}), nullptr);
}

TEST(StorageState, FindsAttachmentsByNode) {
  StorageState storage;
  storage.set_attachment(attachment("d", "v", "n").build());
  storage.set_attachment(attachment("d", "w", "n2").build());
  ASSERT_EQ(storage.attached_to("n").size(), 1U);
  EXPECT_EQ(storage.attached_to("n")[0]->volume, "v");
  storage.remove_attachment("v-n");
  EXPECT_TRUE(storage.attached_to("n").empty());
}

TEST(StorageState, AssumptionsOfOnePodEndAlone) {
  StorageState storage;
  storage.set_claim(claim("c").build());
  const api::Key key{"default", "c"};
  VolumePlan plan;
  plan.provisions.push_back({.claim = key});
  storage.assume("p", plan, "n");
  const std::string with_p = storage.dump();
  storage.assume("q", plan, "n");
  storage.drop("q");
  EXPECT_EQ(storage.dump(), with_p);
  EXPECT_EQ(storage.claim(key)->selected_node(), "n");
  EXPECT_EQ(storage.stored_claim(key)->selected_node(), std::nullopt);
  storage.drop("p");
  EXPECT_EQ(storage.claim(key)->selected_node(), std::nullopt);
}

TEST(Shape, PodsDifferByTheirVolumes) {
  ClusterState state;
  const auto shape = [&](const test::PodBuilder& each) {
    return state.describe(each.build())->shape;
  };
  EXPECT_EQ(shape(pod("a")), shape(pod("b")));
  EXPECT_EQ(shape(pod("a").claim("c")), shape(pod("b").claim("c")));
  EXPECT_NE(shape(pod("a").claim("c")), shape(pod("a").claim("d")));
  EXPECT_NE(shape(pod("a").claim("c")), shape(pod("a")));
  EXPECT_NE(shape(pod("a").ephemeral("e")), shape(pod("b").ephemeral("e")));
  EXPECT_NE(shape(pod("a").uid("1").ephemeral("e")), shape(pod("a").uid("2").ephemeral("e")));
  EXPECT_EQ(shape(pod("a").volume("v", "emptyDir", {})), shape(pod("a")));
}

TEST(Decider, DoesNotRememberWhatClaimsDecide) {
  SchedulingWorld world;
  world.with(node("a")).with(node("b")).with(storage_class("made").waits());
  world.with(claim("c").of_class("made"));
  Decider decider(world.framework(), world.state());
  for (const char* name : {"p", "q", "r"}) {
    const Decision decision = decider.decide(world.describe(pod(name).claim("c")));
    EXPECT_EQ(decision.node_name, "a") << name; // where the claim is provisioned, though b is empty
  }
  EXPECT_EQ(decider.quick_decisions(), 0U);
}

} // namespace
} // namespace berth::sched
