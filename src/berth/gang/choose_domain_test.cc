// Groups placed by topology: whole clusters of labelled nodes, and where the members end.
#include "berth/gang/choose_domain.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/gang/gang_plugin.h"
#include "berth/gang/place_group.h"
#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

using test::node;
using test::pod;
using test::pod_group;
using testing::HasSubstr;

class ByTopology : public testing::Test {
 protected:
  ByTopology() : groups_(std::make_shared<Groups>()) {
    sched::Registry registry = sched::builtin_plugins();
    EXPECT_TRUE(registry.add(kGangPlugin, gang_plugin(groups_)));
    sched::Profile profile = sched::default_profile();
    profile.plugins.insert(profile.plugins.begin(),
                           {.name = std::string(kGangPlugin), .weight = 1, .args = {}});
    profile.plugins.push_back({.name = "GpuTopology", .weight = 1, .args = {}});
    auto framework = sched::Framework::make(profile, registry);
    EXPECT_TRUE(framework);
    framework_ = std::make_unique<sched::Framework>(*std::move(framework));
  }

  void add_rack(std::string_view rack, int nodes, int gpus = 8) {
    for (int i = 0; i < nodes; ++i) {
      state_.set_node(node(fmt::format("{}-n{}", rack, i))
                          .label("berth.dev/rack", rack)
                          .cpu("128")
                          .gpus(gpus)
                          .build());
    }
  }
  void fill(std::string_view node_name, int gpus) {
    state_.set_pod(state_.describe(
        pod(fmt::format("filler-{}", fillers_++)).gpus(gpus).on_node(node_name).build()));
  }
  GroupDecision place(int members, int min_member, int gpus = 8, std::string_view required = "") {
    std::vector<sched::PodPtr> pending;
    for (int i = 0; i < members; ++i) {
      auto builder = pod(fmt::format("w-{}", i)).gpus(gpus).cpu("8").in_group("g");
      if (!required.empty()) {
        builder.annotation(kRequiredTopology, required);
      }
      pending.push_back(state_.describe(builder.build()));
    }
    return place(std::move(pending), min_member);
  }
  GroupDecision place(std::vector<sched::PodPtr> pending, int min_member,
                      std::vector<sched::NodeId> placed_on = {}) {
    groups_->set_group(pod_group("g", min_member).build());
    for (const auto& member : pending) {
      groups_->set_pod(member);
    }
    sched::Decider decider(*framework_, state_);
    return place_group(decider, {.key = {.ns = "default", .name = "g"},
                                 .min_member = min_member,
                                 .already_placed = std::ssize(placed_on),
                                 .pending = std::move(pending),
                                 .placed_on = std::move(placed_on),
                                 .options = {}});
  }
  /// Rack of each placed member, in name order.
  std::vector<std::string> racks(const GroupDecision& decision) const {
    std::map<std::string, std::string> by_name;
    for (const MemberDecision& member : decision.members) {
      if (member.decision.placed()) {
        const auto& labels = state_.node(member.decision.node).labels();
        const auto rack = labels.find("berth.dev/rack");
        by_name[member.pod->name()] = rack == labels.end() ? "" : rack->second;
      }
    }
    std::vector<std::string> result;
    for (const auto& [name, rack] : by_name) {
      result.push_back(rack);
    }
    return result;
  }

  std::shared_ptr<Groups> groups_;
  sched::ClusterState state_;
  std::unique_ptr<sched::Framework> framework_;
  int fillers_ = 0;
};

TEST_F(ByTopology, AGroupThatNoRackHoldsStillSaysWhichNodesWouldDo) {
  add_rack("a", 1);
  add_rack("b", 1);
  groups_->set_group(pod_group("g", 2).build());
  GroupRequest request{.key = {.ns = "default", .name = "g"}, .min_member = 2};
  for (const char* name : {"w-0", "w-1"}) {
    request.pending.push_back(state_.describe(pod(name)
                                                  .uid(name)
                                                  .gpus(8)
                                                  .in_group("g")
                                                  .annotation(kRequiredTopology, "berth.dev/rack")
                                                  .build()));
    groups_->set_pod(request.pending.back());
  }
  request.explained = {"w-0"};
  sched::Decider decider(*framework_, state_);
  const GroupDecision decision = place_group(decider, request);
  EXPECT_FALSE(decision.placed);
  EXPECT_EQ(state_.assumed_count(), 0U);
  for (const MemberDecision& member : decision.members) {
    EXPECT_EQ(member.decision.table != nullptr, member.pod->uid == "w-0");
  }
}

TEST_F(ByTopology, AGroupThatFitsOneRackIsInOneRack) {
  add_rack("a", 4);
  add_rack("b", 4);
  fill("a-n0", 1);
  const GroupDecision decision = place(4, 4);
  ASSERT_TRUE(decision.placed);
  EXPECT_THAT(racks(decision), testing::Each("b"));
}

TEST_F(ByTopology, TheRackThatFitsBestIsTaken) {
  add_rack("large", 6);
  add_rack("small", 3);
  EXPECT_THAT(racks(place(3, 3)), testing::Each("small"));
}

TEST_F(ByTopology, NeighboursInRankAreNeighboursInTheCluster) {
  add_rack("a", 3);
  add_rack("b", 4);
  const GroupDecision decision = place(6, 6);
  ASSERT_TRUE(decision.placed);
  EXPECT_THAT(racks(decision), testing::ElementsAre("a", "a", "b", "b", "b", "b"));
}

TEST_F(ByTopology, SmallMembersShareTheNodesOfOneRack) {
  add_rack("a", 2);
  add_rack("b", 2);
  fill("a-n0", 4);
  fill("b-n0", 2);
  // 12 free GPUs in a, 14 in b: six members of two fit a exactly.
  EXPECT_THAT(racks(place(6, 6, 2)), testing::Each("a"));
}

TEST_F(ByTopology, MembersBeyondTheMinimumGoWhereTheyFit) {
  add_rack("a", 2);
  add_rack("b", 1);
  const GroupDecision decision = place(5, 2);
  EXPECT_TRUE(decision.placed);
  EXPECT_EQ(racks(decision).size(), 3U);
}

TEST_F(ByTopology, ARequiredDomainIsKeptTo) {
  add_rack("a", 3);
  add_rack("b", 3);
  const GroupDecision refused = place(4, 4, 8, "berth.dev/rack");
  EXPECT_FALSE(refused.placed);
  EXPECT_EQ(state_.assumed_count(), 0U);
  for (const MemberDecision& member : refused.members) {
    EXPECT_EQ(member.decision.message, "pod group \"default/g\" needs 4 members placed within one "
                                       "berth.dev/rack and at most 3 fit");
  }
  EXPECT_TRUE(place(4, 4).placed) << "without the requirement it spans both";
}

TEST_F(ByTopology, ARequiredDomainMayHoldFewerThanAllIfEnough) {
  add_rack("a", 3);
  add_rack("b", 2);
  const GroupDecision decision = place(4, 3, 8, "berth.dev/rack");
  EXPECT_TRUE(decision.placed);
  EXPECT_THAT(racks(decision), testing::ElementsAre("a", "a", "a"));
}

TEST_F(ByTopology, ALateMemberJoinsItsSiblings) {
  add_rack("a", 2);
  add_rack("b", 2);
  add_rack("c", 1);
  const auto sibling = state_.describe(pod("w-0").gpus(8).in_group("g").on_node("b-n0").build());
  state_.set_pod(sibling);
  groups_->set_pod(sibling);
  std::vector<sched::PodPtr> late = {state_.describe(pod("w-9").gpus(8).in_group("g").build())};
  EXPECT_THAT(racks(place(late, 2, {*state_.find_node("b-n0")})), testing::ElementsAre("b"))
      << "c would fit best";
}

TEST_F(ByTopology, MembersOfSeveralShapesStayTogether) {
  add_rack("a", 2);
  add_rack("b", 3);
  fill("a-n0", 1);
  std::vector<sched::PodPtr> pending = {
      state_.describe(pod("launcher").cpu("1").in_group("g").build()),
      state_.describe(pod("w-0").gpus(8).in_group("g").build()),
      state_.describe(pod("w-1").gpus(8).in_group("g").build()),
      state_.describe(pod("w-2").gpus(4).in_group("g").build())};
  EXPECT_THAT(racks(place(pending, 4)), testing::Each("b"));
}

TEST_F(ByTopology, TopologyNeverCostsAGroupItsPlace) {
  Rng rng(3);
  for (int round = 0; round < 150; ++round) {
    state_ = {};
    fillers_ = 0;
    std::int64_t slots = 0;
    const int size = static_cast<int>(rng.between(1, 8));
    for (std::int64_t rack = 0; rack < rng.between(1, 4); ++rack) {
      for (std::int64_t i = 0; i < rng.between(1, 3); ++i) {
        const auto gpus = static_cast<int>(rng.between(0, 8));
        auto builder = node(fmt::format("r{}-{}", rack, i)).cpu("128").gpus(gpus);
        if (!rng.chance(1, 6)) {
          builder.label("berth.dev/rack", fmt::format("r{}", rack));
        }
        state_.set_node(builder.build());
        slots += gpus / size;
      }
    }
    const auto members = static_cast<int>(rng.between(1, 8));
    const auto minimum = static_cast<int>(rng.between(1, members));
    const std::string before = state_.dump();
    const GroupDecision decision = place(members, minimum, size);
    EXPECT_EQ(decision.placed, slots >= minimum) << "round " << round;
    EXPECT_EQ(std::ssize(decision.members), members);
    if (decision.placed) {
      EXPECT_EQ(state_.assumed_count(),
                static_cast<std::size_t>(std::min<std::int64_t>(slots, members)));
    } else {
      EXPECT_EQ(state_.dump(), before);
    }
  }
}

} // namespace
} // namespace berth::gang
