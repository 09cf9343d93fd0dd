#include "berth/gang/place_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/base/rng.h"
#include "berth/gang/gang_plugin.h"
#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

using berth::test::node;
using berth::test::pod;
using berth::test::pod_group;
using testing::AllOf;
using testing::HasSubstr;

/// The state as text, without how many slots its tables have grown to.
std::string picture(const sched::ClusterState& state) {
  const std::string text = state.dump();
  return text.substr(0, text.find(" slots="));
}

/// A cluster state with a framework of the default plugins and Gang.
class PlaceGroupTest : public testing::Test {
 protected:
  PlaceGroupTest() : groups_(std::make_shared<Groups>()) {
    sched::Profile profile = sched::default_profile();
    profile.plugins.insert(profile.plugins.begin(), {.name = std::string(kGangPlugin)});
    sched::Registry registry = sched::builtin_plugins();
    EXPECT_TRUE(registry.add(kGangPlugin, gang_plugin(groups_)));
    auto made = sched::Framework::make(profile, registry);
    EXPECT_TRUE(made) << to_string(made.error());
    framework_ = std::make_unique<sched::Framework>(*std::move(made));
  }

  void add_node(std::string_view name, int gpus) {
    state_.set_node(node(name).cpu("64").memory("512Gi").gpus(gpus).build());
  }
  void group(std::string_view name, std::int64_t min_member) {
    groups_->set_group(pod_group(name, min_member).build());
  }

  sched::PodPtr member(std::string_view name, int gpus, std::string_view of = "train") {
    auto described = state_.describe(pod(name)
                                         .uid(fmt::format("uid-{}", name))
                                         .gpus(gpus)
                                         .cpu("1")
                                         .memory("1Gi")
                                         .in_group(of)
                                         .build());
    groups_->set_pod(described);
    return described;
  }

  GroupDecision place(std::vector<sched::PodPtr> pending, std::int64_t min_member,
                      std::string_view name = "train",
                      std::set<std::string, std::less<>> explained = {}) {
    const api::Key key{.ns = "default", .name = std::string(name)};
    sched::Decider decider(*framework_, state_);
    return place_group(decider, {.key = key,
                                 .min_member = min_member,
                                 .already_placed = groups_->placed_count(key, state_),
                                 .pending = std::move(pending),
                                 .options = {},
                                 .explained = std::move(explained)});
  }

  std::shared_ptr<Groups> groups_;
  sched::ClusterState state_;
  std::unique_ptr<sched::Framework> framework_;
};

TEST_F(PlaceGroupTest, PlacesEveryMemberAtOnce) {
  add_node("n1", 8);
  add_node("n2", 8);
  group("train", 2);
  const GroupDecision decision = place({member("a", 8), member("b", 8)}, 2);
  EXPECT_TRUE(decision.placed);
  ASSERT_EQ(decision.members.size(), 2U);
  EXPECT_EQ(decision.members[0].decision.outcome, sched::Outcome::Scheduled);
  EXPECT_EQ(decision.members[1].decision.outcome, sched::Outcome::Scheduled);
  EXPECT_NE(decision.members[0].decision.node, decision.members[1].decision.node);
  EXPECT_EQ(state_.assumed_count(), 2U);
}

TEST_F(PlaceGroupTest, HoldsNothingWhenOneMemberDoesNotFit) {
  add_node("n1", 8);
  add_node("n2", 4);
  group("train", 2);
  const std::vector<sched::PodPtr> pods = {member("a", 8), member("b", 8)};
  const std::string before = picture(state_);
  const GroupDecision decision = place(pods, 2);
  EXPECT_FALSE(decision.placed);
  EXPECT_EQ(picture(state_), before);
  EXPECT_EQ(state_.assumed_count(), 0U);
  EXPECT_THAT(
      decision.members[0].decision.message,
      AllOf(HasSubstr("pod group \"default/train\" needs 2 members placed at once and 1 fit"),
            HasSubstr("pod \"b\" does not fit: 0/2 nodes are available"),
            HasSubstr("2 Insufficient nvidia.com/gpu")));
  EXPECT_THAT(decision.members[1].decision.message,
              testing::StartsWith("0/2 nodes are available: 2 Insufficient nvidia.com/gpu"));
  EXPECT_THAT(decision.members[0].decision.unschedulable_plugins, testing::Contains("Gang"));
}

TEST_F(PlaceGroupTest, MembersAskedAboutHaveTheirTableAlsoWhenTheyAreTakenBack) {
  add_node("n1", 8);
  add_node("n2", 4);
  group("train", 2);
  const GroupDecision decision =
      place({member("a", 8), member("b", 8)}, 2, "train", {"uid-a", "uid-b"});
  ASSERT_EQ(decision.members.size(), 2U);
  const auto& first = decision.members[0].decision.table;
  ASSERT_NE(first, nullptr);
  ASSERT_TRUE(first->best.has_value());
  EXPECT_EQ(state_.node_name(*first->best), "n1") << "what it would have got";
  const auto& second = decision.members[1].decision.table;
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(second->best.has_value());
  EXPECT_EQ(second->rows[0].short_of.front().free, 0) << "its sibling held the GPUs of n1";
  EXPECT_EQ(place({member("a", 8), member("b", 8)}, 2).members[0].decision.table, nullptr);
}

TEST_F(PlaceGroupTest, MembersBeyondTheQuorumMayStayBehind) {
  add_node("n1", 8);
  group("train", 2);
  const GroupDecision decision = place({member("a", 4), member("b", 4), member("c", 4)}, 2);
  EXPECT_TRUE(decision.placed);
  EXPECT_TRUE(decision.members[0].decision.placed());
  EXPECT_TRUE(decision.members[1].decision.placed());
  EXPECT_FALSE(decision.members[2].decision.placed());
}

TEST_F(PlaceGroupTest, CountsMembersThatAlreadyRun) {
  add_node("n1", 8);
  group("train", 2);
  auto running =
      state_.describe(pod("a").uid("uid-a").gpus(4).in_group("train").on_node("n1").build());
  state_.set_pod(running);
  groups_->set_pod(running);
  EXPECT_TRUE(place({member("b", 4)}, 2).placed);
}

TEST_F(PlaceGroupTest, CountsMembersThatHaveSucceeded) {
  add_node("n1", 8);
  group("train", 2);
  groups_->set_pod(state_.describe(
      pod("a").uid("uid-a").gpus(4).in_group("train").on_node("n1").phase("Succeeded").build()));
  EXPECT_TRUE(place({member("b", 8)}, 2).placed);
}

TEST_F(PlaceGroupTest, PlacesTheLargestMembersFirst) {
  add_node("n1", 8);
  add_node("n2", 4);
  group("train", 2);
  // The small one could take the big one's only node.
  const GroupDecision decision = place({member("small", 2), member("big", 8)}, 2);
  EXPECT_TRUE(decision.placed);
  EXPECT_EQ(decision.members.front().pod->name(), "big");
  EXPECT_EQ(decision.members.front().decision.node_name, "n1");
  EXPECT_EQ(decision.members.back().decision.node_name, "n2");
}

TEST_F(PlaceGroupTest, TakesBackWhatStandsInTheWay) {
  add_node("n1", 6);
  add_node("n2", 4);
  group("train", 4);
  // 4 into n1 leaves 2 and 4 for three twos and more: only 4 into n2 and 2+2+2 into n1 do.
  const GroupDecision decision =
      place({member("four", 4), member("two-a", 2), member("two-b", 2), member("two-c", 2)}, 4);
  EXPECT_TRUE(decision.placed);
  EXPECT_EQ(state_.node(*state_.find_node("n1")).requested.get(sched::kGpu), 6);
  EXPECT_EQ(state_.node(*state_.find_node("n2")).requested.get(sched::kGpu), 4);
}

TEST_F(PlaceGroupTest, NamesTheMemberThatCannotGoAnywhere) {
  add_node("n1", 8);
  add_node("n2", 8);
  group("train", 3);
  const GroupDecision decision = place({member("a", 8), member("b", 4), member("huge", 16)}, 3);
  EXPECT_FALSE(decision.placed);
  EXPECT_TRUE(decision.proven);
  EXPECT_EQ(decision.trials, 0) << "counting is enough";
  EXPECT_EQ(state_.assumed_count(), 0U);
  EXPECT_THAT(decision.members.back().decision.message,
              HasSubstr("pod \"huge\" does not fit: 0/2 nodes are available: 2 Insufficient "
                        "nvidia.com/gpu"));
}

TEST_F(PlaceGroupTest, SaysWhenTrialsRanOut) {
  add_node("n1", 4);
  add_node("n2", 4);
  group("train", 3);
  // Eight GPUs for eight, and each shape has room for itself: only trying shows that it is in vain.
  GroupRequest request{.key = {.ns = "default", .name = "train"},
                       .min_member = 3,
                       .pending = {member("three-a", 3), member("three-b", 3), member("two", 2)},
                       .options = {}};
  const std::string before = picture(state_);
  sched::Decider decider(*framework_, state_);
  const GroupDecision decision = place_group(decider, request);
  EXPECT_FALSE(decision.placed);
  EXPECT_TRUE(decision.proven);
  EXPECT_GT(decision.trials, 1);
  EXPECT_THAT(decision.members[0].decision.message, testing::Not(HasSubstr("trials")));
  request.trials = -2; // one in all, for three members
  const GroupDecision hasty = place_group(decider, request);
  EXPECT_FALSE(hasty.placed);
  EXPECT_FALSE(hasty.proven);
  EXPECT_EQ(hasty.trials, 1);
  EXPECT_EQ(picture(state_), before);
  EXPECT_THAT(
      hasty.members[0].decision.message,
      AllOf(
          HasSubstr("2 fit: pod \"two\" does not fit: 0/2 nodes are available: 2 Insufficient "
                    "nvidia.com/gpu"),
          HasSubstr("The search for another arrangement ended after 1 trial without an answer.")));
}

TEST_F(PlaceGroupTest, AThousandMembersOfEightGpusInOneDecision) {
  for (int i = 0; i < 1100; ++i) {
    state_.set_node(node(fmt::format("n{}", i))
                        .label("berth.dev/block", fmt::format("b{}", i / 256))
                        .label("berth.dev/rack", fmt::format("r{}", i / 16))
                        .cpu("64")
                        .memory("512Gi")
                        .gpus(i % 11 == 0 ? 4 : 8)
                        .build());
  }
  std::vector<sched::PodPtr> pending;
  for (int i = 0; i < 1000; ++i) {
    pending.push_back(member(fmt::format("w-{}", i), 8));
  }
  group("train", 1000);
  const GroupDecision decision = place(pending, 1000);
  ASSERT_TRUE(decision.placed);
  std::set<sched::NodeId> nodes;
  for (const MemberDecision& one : decision.members) {
    ASSERT_TRUE(one.decision.placed());
    nodes.insert(one.decision.node);
  }
  EXPECT_EQ(nodes.size(), 1000U) << "all whole nodes there are";
  EXPECT_EQ(state_.assumed_count(), 1000U);
}

TEST_F(PlaceGroupTest, ALauncherAndAThousandWorkersInOneDecision) {
  for (int i = 0; i < 1024; ++i) {
    state_.set_node(node(fmt::format("n{}", i))
                        .label("berth.dev/rack", fmt::format("r{}", i / 16))
                        .cpu("64")
                        .memory("512Gi")
                        .gpus(8)
                        .build());
  }
  std::vector<sched::PodPtr> pending = {member("launcher", 0)};
  for (int i = 0; i < 1000; ++i) {
    pending.push_back(member(fmt::format("w-{}", i), 8));
  }
  for (int i = 0; i < 96; ++i) {
    pending.push_back(member(fmt::format("small-{}", i), 2));
  }
  group("train", std::ssize(pending));
  const GroupDecision decision = place(pending, std::ssize(pending));
  ASSERT_TRUE(decision.placed) << "24 nodes are left for 96 small ones, exactly";
  EXPECT_EQ(state_.assumed_count(), pending.size());
}

TEST_F(PlaceGroupTest, EvictsNobodyForAPartOfAGroup) {
  add_node("n1", 8);
  group("train", 2);
  state_.set_pod(
      state_.describe(pod("low").uid("uid-low").gpus(8).priority(-10).on_node("n1").build()));
  const GroupDecision decision = place({member("a", 8), member("b", 8)}, 2);
  EXPECT_FALSE(decision.placed);
  for (const MemberDecision& one : decision.members) {
    EXPECT_TRUE(one.decision.victims.empty());
    EXPECT_FALSE(one.decision.nominated_node.has_value());
  }
}

/// Equal members on GPU-only nodes: the group fits exactly when the nodes' whole slots reach
/// minMember.
TEST_F(PlaceGroupTest, AgreesWithCountingSlotsForEqualMembers) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    sched::ClusterState state;
    auto groups = std::make_shared<Groups>();
    sched::Registry registry = sched::builtin_plugins();
    ASSERT_TRUE(registry.add(kGangPlugin, gang_plugin(groups)));
    auto framework = sched::Framework::make(
        {.plugins = {{.name = "Gang"}, {.name = "NodeResourcesFit"}}}, registry);
    ASSERT_TRUE(framework) << to_string(framework.error());
    const int size = static_cast<int>(rng.between(1, 8));
    std::int64_t slots = 0;
    for (int n = 0; n < rng.between(1, 5); ++n) {
      const int gpus = static_cast<int>(rng.between(0, 8));
      slots += gpus / size;
      state.set_node(node(fmt::format("n{}", n)).gpus(gpus).build());
    }
    const std::int64_t members = rng.between(1, 6);
    const std::int64_t min_member = rng.between(1, members);
    groups->set_group(pod_group("g", min_member).build());
    std::vector<sched::PodPtr> pending;
    for (int m = 0; m < members; ++m) {
      pending.push_back(state.describe(
          pod(fmt::format("p{}", m)).uid(fmt::format("u{}", m)).gpus(size).in_group("g").build()));
      groups->set_pod(pending.back());
    }
    const std::string before = picture(state);
    sched::Decider decider(*framework, state);
    const GroupDecision decision = place_group(decider, {.key = {.ns = "default", .name = "g"},
                                                         .min_member = min_member,
                                                         .pending = pending,
                                                         .options = {}});
    EXPECT_EQ(decision.placed, slots >= min_member) << "round " << round;
    EXPECT_EQ(state.assumed_count(),
              static_cast<std::size_t>(slots >= min_member ? std::min(slots, members) : 0));
    if (!decision.placed) {
      EXPECT_EQ(picture(state), before);
    }
  }
}

} // namespace
} // namespace berth::gang
