#include "berth/gang/gang_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

using berth::test::node;
using berth::test::pod;
using berth::test::pod_group;
using sched::StatusCode;

class GangPluginTest : public testing::Test {
 protected:
  GangPluginTest() : groups_(std::make_shared<Groups>()), plugin_(*gang_plugin(groups_)({})) {
    node_ = state_.set_node(node("n1").gpus(8).build());
  }

  sched::PodPtr member(std::string_view name, std::string_view group = "g") {
    auto described = state_.describe(pod(name).uid(name).gpus(1).in_group(group).build());
    groups_->set_pod(described);
    return described;
  }

  static sched::QueuedPod queued(const sched::PodPtr& pod, std::int64_t seconds) {
    return {.pod = pod, .timestamp = TimePoint::from_unix_seconds(seconds), .initial_attempt = {}};
  }

  std::shared_ptr<Groups> groups_;
  std::unique_ptr<sched::Plugin> plugin_;
  sched::ClusterState state_;
  sched::NodeId node_;
};

TEST_F(GangPluginTest, LeavesLonePodsAlone) {
  const auto lone = state_.describe(pod("lone").uid("lone").build());
  EXPECT_EQ(plugin_->prepare(lone, state_).status.code, StatusCode::Skip);
  EXPECT_TRUE(plugin_->permit(lone, node_, state_).status.ok());
  EXPECT_TRUE(plugin_->unreserve(lone, node_, state_).reject.empty());
}

TEST_F(GangPluginTest, RejectsMembersOfAGroupThatDoesNotExist) {
  const sched::Status status = plugin_->prepare(member("a"), state_).status;
  EXPECT_EQ(status.code, StatusCode::Unresolvable);
  EXPECT_EQ(status.message(), "PodGroup not found");
}

TEST_F(GangPluginTest, RejectsUntilThereAreEnoughMembers) {
  groups_->set_group(pod_group("g", 3).build());
  const auto a = member("a");
  member("b");
  const sched::Status status = plugin_->prepare(a, state_).status;
  EXPECT_EQ(status.code, StatusCode::Unresolvable);
  EXPECT_EQ(status.message(), "pre-filter pod a cannot find enough sibling pods, current pods "
                              "number: 2, minMember of group: 3");
  member("c");
  EXPECT_EQ(plugin_->prepare(a, state_).status.code, StatusCode::Skip);
}

TEST_F(GangPluginTest, DoesNotCountFailedOrDeletedMembersOrOtherNamespaces) {
  groups_->set_group(pod_group("g", 2).build());
  const auto a = member("a");
  const auto b = member("b");
  groups_->set_pod(state_.describe(pod("b").uid("b").in_group("g").phase("Failed").build()));
  groups_->set_pod(state_.describe(pod("c").uid("c").ns("elsewhere").in_group("g").build()));
  EXPECT_EQ(plugin_->prepare(a, state_).status.code, StatusCode::Unresolvable);
  member("d");
  EXPECT_EQ(plugin_->prepare(a, state_).status.code, StatusCode::Skip);
  groups_->remove_pod(*member("d"));
  EXPECT_EQ(plugin_->prepare(a, state_).status.code, StatusCode::Unresolvable);
}

TEST_F(GangPluginTest, WaitsAtPermitUntilQuorumThenAllowsTheSiblings) {
  groups_->set_group(pod_group("g", 2).timeout_seconds(12).build());
  const auto a = member("a");
  const auto b = member("b");
  state_.assume(a, node_);
  const sched::PermitResult first = plugin_->permit(a, node_, state_);
  EXPECT_EQ(first.status.code, StatusCode::Wait);
  EXPECT_EQ(first.timeout, Duration::seconds(12));
  state_.assume(b, node_);
  const sched::PermitResult second = plugin_->permit(b, node_, state_);
  EXPECT_TRUE(second.status.ok());
  EXPECT_THAT(second.effects.allow, testing::ElementsAre("a"));
}

TEST_F(GangPluginTest, WaitsSixtySecondsUnlessItsArgsSayOtherwise) {
  groups_->set_group(pod_group("g", 2).build());
  groups_->set_group(pod_group("own", 2).timeout_seconds(12).build());
  const auto timeout = [&](const char* args, const char* group) {
    const auto made = gang_plugin(groups_)({.args = *api::parse_json(args), .version = {}});
    const auto waiting = state_.describe(pod("w").uid("w").in_group(group).build());
    return (*made)->permit(waiting, node_, state_).timeout;
  };
  EXPECT_EQ(timeout("null", "g"), Duration::seconds(60));
  EXPECT_EQ(timeout(R"({"permitWaitingTimeSeconds": 10})", "g"), Duration::seconds(10));
  EXPECT_EQ(timeout(R"({"permitWaitingTimeSeconds": 10})", "own"), Duration::seconds(12));
}

TEST(GangArgs, AreChecked) {
  const auto error_of = [](const char* args) {
    const auto parsed = parse_gang_args(*api::parse_json(args));
    return parsed ? "" : to_string(parsed.error());
  };
  EXPECT_EQ(error_of(R"({"permitWaitingTimeSeconds": 10, "podGroupBackoffSeconds": 0})"), "");
  EXPECT_EQ(error_of(R"({"permitWaitingTimeSeconds": -1})"),
            "permitWaitingTimeSeconds: Invalid value: -1: must not be negative");
  EXPECT_EQ(error_of(R"({"permitWaitTimeSeconds": 1})"),
            "permitWaitTimeSeconds: unknown field; did you mean \"permitWaitingTimeSeconds\"?");
}

TEST_F(GangPluginTest, AMemberThatLosesItsNodeTakesTheWaitingOnesWithIt) {
  groups_->set_group(pod_group("g", 3).build());
  const auto a = member("a");
  member("b");
  member("c");
  EXPECT_THAT(plugin_->unreserve(a, node_, state_).reject, testing::ElementsAre("b", "c"));
}

TEST_F(GangPluginTest, KeepsMembersOfAGroupNextToEachOther) {
  groups_->set_group(pod_group("g", 2).created(TimePoint::from_unix_seconds(100)).build());
  const auto early_member = queued(member("g-0"), 110);
  const auto late_member = queued(member("g-1"), 900);
  const auto between = queued(state_.describe(pod("lone").uid("lone").build()), 500);
  const auto before = queued(state_.describe(pod("first").uid("first").build()), 50);
  const auto urgent =
      queued(state_.describe(pod("urgent").uid("urgent").priority(10).build()), 999);
  EXPECT_TRUE(plugin_->less(early_member, late_member));
  EXPECT_TRUE(plugin_->less(late_member, between));
  EXPECT_TRUE(plugin_->less(before, early_member));
  EXPECT_TRUE(plugin_->less(urgent, before));
  EXPECT_FALSE(plugin_->less(late_member, early_member));
  EXPECT_FALSE(plugin_->less(early_member, early_member));
}

} // namespace
} // namespace berth::gang
