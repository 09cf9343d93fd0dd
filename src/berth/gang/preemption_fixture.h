// Clusters of pods and pod groups in a few words, for tests of preemption.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/gang/gang_plugin.h"
#include "berth/gang/gang_preemption.h"
#include "berth/gang/preempt_group.h"
#include "berth/testing/builders.h"

namespace berth::gang {

/// A state with a framework of the default plugins, Gang, GpuTopology, and GangPreemption in place
/// of DefaultPreemption.
class PreemptionWorld {
 public:
  PreemptionWorld() : groups_(std::make_shared<Groups>()) {
    framework_ = make_framework(kGangPreemption);
  }

  std::unique_ptr<sched::Framework> make_framework(std::string_view preemption) const {
    sched::Profile profile = sched::default_profile();
    profile.plugins.insert(profile.plugins.begin(), {.name = std::string(kGangPlugin)});
    profile.plugins.push_back({.name = "GpuTopology"});
    for (sched::ProfilePlugin& plugin : profile.plugins) {
      plugin.name = plugin.name == "DefaultPreemption" ? std::string(preemption) : plugin.name;
    }
    sched::Registry registry = sched::builtin_plugins();
    BERTH_ASSERT(registry.add(kGangPlugin, gang_plugin(groups_)), "");
    BERTH_ASSERT(registry.add(kGangPreemption, gang_preemption_plugin(groups_)), "");
    auto made = sched::Framework::make(profile, registry);
    BERTH_ASSERT(made, to_string(made.error()));
    return std::make_unique<sched::Framework>(*std::move(made));
  }

  static test::NodeBuilder node(std::string_view name, int gpus = 8) {
    return test::node(name).cpu("64").memory("512Gi").pods(110).gpus(gpus);
  }
  static test::NodeBuilder machine(std::string_view name, std::string_view platform, int gpus) {
    return node(name, gpus).platform(platform);
  }
  PreemptionWorld& with(const test::NodeBuilder& node) {
    state_.set_node(node.build());
    return *this;
  }
  PreemptionWorld& nodes(std::initializer_list<std::string_view> names, int gpus = 8) {
    for (const std::string_view name : names) {
      with(node(name, gpus));
    }
    return *this;
  }
  PreemptionWorld& group(std::string_view name, std::int64_t min_member) {
    groups_->set_group(test::pod_group(name, min_member).build());
    return *this;
  }
  /// Of priority 0 unless it says otherwise.
  static test::PodBuilder pod(std::string_view name, int gpus) {
    return test::pod(name).uid(fmt::format("uid-{}", name)).gpus(gpus).cpu("1").memory("1Gi");
  }
  static test::PodBuilder started(test::PodBuilder made, std::int64_t second) {
    return made.edit([&](boost::json::object& document) {
      api::object_at(document, "status")["startTime"] =
          to_rfc3339(TimePoint::from_unix_seconds(second));
    });
  }
  /// Evicted by a scheduler, and not gone yet.
  static test::PodBuilder evicted(test::PodBuilder made) {
    return made.deleted(TimePoint::from_unix_seconds(5)).edit([](boost::json::object& document) {
      api::object_at(document, "status")["conditions"] = boost::json::array{boost::json::object{
          {"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "PreemptionByScheduler"}}};
    });
  }
  /// A pod that runs.
  PreemptionWorld& runs(test::PodBuilder builder, std::string_view on) {
    const sched::PodPtr placed = state_.describe(builder.on_node(on).build());
    groups_->set_pod(placed);
    state_.set_pod(placed);
    return *this;
  }
  sched::PodPtr waits(const test::PodBuilder& builder) {
    sched::PodPtr pending = state_.describe(builder.build());
    groups_->set_pod(pending);
    return pending;
  }
  /// Members NAME-0, NAME-1, ... of the group NAME that wait.
  std::vector<sched::PodPtr> gang(std::string_view name, int members, int gpus,
                                  std::int64_t priority = 100) {
    std::vector<sched::PodPtr> pods;
    for (int i = 0; i < members; ++i) {
      pods.push_back(
          waits(pod(fmt::format("{}-{}", name, i), gpus).priority(priority).in_group(name)));
    }
    return pods;
  }
  PreemptionWorld& budget(std::string_view app, std::int64_t allowed) {
    state_.set_budget(std::make_shared<const sched::DisruptionBudget>(sched::DisruptionBudget{
        .key = {.ns = "default", .name = std::string(app)},
        .selector = {{{.key = "app", .op = api::Operator::In, .values = {std::string(app)}}}},
        .disruptions_allowed = allowed,
        .disrupted_pods = {}}));
    return *this;
  }

  GroupRequest request(std::vector<sched::PodPtr> pending) const {
    const api::Key key = group_of(*pending.front());
    GroupRequest request{.key = key,
                         .min_member = groups_->find(key)->min_member,
                         .already_placed = groups_->placed_count(key, state_),
                         .pending = std::move(pending),
                         .placed_on = {},
                         .options = {},
                         .explained = {}};
    for (const Groups::Member& member : groups_->members(key)) {
      if (const sched::PlacedPod* placed = state_.find_pod(member.pod->uid)) {
        request.placed_on.push_back(placed->node);
      }
    }
    return request;
  }
  GroupPreemption plan(const std::vector<sched::PodPtr>& pending) {
    sched::Decider decider(*framework_, state_);
    return plan_for_group(decider, *groups_, request(pending));
  }
  GroupDecision decide(const std::vector<sched::PodPtr>& pending) {
    sched::Decider decider(*framework_, state_);
    return place_or_preempt(decider, *groups_, request(pending));
  }
  sched::Decision decide(const sched::PodPtr& pod) {
    return schedule_one(*framework_, state_, pod, {});
  }
  /// Takes pods away as if they had ended.
  void end(const std::vector<sched::PodPtr>& pods) {
    for (const sched::PodPtr& pod : pods) {
      groups_->remove_pod(*pod);
      state_.remove_pod(pod->uid);
    }
  }

  sched::ClusterState& state() { return state_; }
  Groups& groups() { return *groups_; }
  sched::Framework& framework() { return *framework_; }

  /// Names, sorted.
  static std::vector<std::string> names(const std::vector<sched::PodPtr>& pods) {
    std::vector<std::string> names;
    for (const sched::PodPtr& pod : pods) {
      names.push_back(pod->name());
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  std::shared_ptr<Groups> groups_;
  sched::ClusterState state_;
  std::unique_ptr<sched::Framework> framework_;
};

} // namespace berth::gang
