#include "berth/gang/place_group.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "berth/gang/gang_plugin.h"

namespace berth::gang {
namespace {

auto hardness(const sched::PodInfo& pod) {
  return std::tuple(-pod.gpus, -pod.request(sched::kCpu), -pod.request(sched::kMemory));
}

/// Shorter names first, so that worker-2 comes before worker-10.
bool name_less(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::vector<sched::PodPtr> in_order(std::vector<sched::PodPtr> pods) {
  std::ranges::sort(pods, [](const sched::PodPtr& a, const sched::PodPtr& b) {
    const auto hard_a = hardness(*a);
    const auto hard_b = hardness(*b);
    return hard_a != hard_b ? hard_a < hard_b : name_less(a->name(), b->name());
  });
  return pods;
}

/// A change of the group may help too, e.g. a lower minMember or one member more.
void wake_with_group(sched::Decision& decision) {
  auto& plugins = decision.unschedulable_plugins;
  const std::string gang(kGangPlugin);
  if (const auto at = std::ranges::lower_bound(plugins, gang); at == plugins.end() || *at != gang) {
    plugins.insert(at, gang);
  }
}

/// Every placed member loses its node again; who failed keeps its own reason, the rest name it.
void take_back(sched::Framework& framework, sched::ClusterState& state, const GroupRequest& request,
               std::int64_t fitted, GroupDecision& group) {
  const MemberDecision* first_failed = nullptr;
  for (const MemberDecision& member : group.members) {
    if (!member.decision.placed() && first_failed == nullptr) {
      first_failed = &member;
    }
  }
  const std::string why = first_failed == nullptr ? std::string("its other members are missing")
                                                  : fmt::format("pod \"{}\" does not fit: {}",
                                                                first_failed->pod->name(),
                                                                first_failed->decision.message);
  for (auto it = group.members.rbegin(); it != group.members.rend(); ++it) {
    sched::Decision& decision = it->decision;
    if (!decision.placed()) {
      continue;
    }
    undo_decision(framework, state, it->pod, decision.node);
    sched::Decision failed;
    failed.message = fmt::format("pod group \"{}\" needs {} members placed at once and {} fit: {}",
                                 request.key.to_string(), request.min_member,
                                 request.already_placed + fitted, why);
    if (first_failed != nullptr) {
      failed.unschedulable_plugins = first_failed->decision.unschedulable_plugins;
      failed.pending_plugins = first_failed->decision.pending_plugins;
    }
    wake_with_group(failed);
    failed.feasible_nodes = decision.feasible_nodes;
    failed.table = std::move(decision.table);
    decision = std::move(failed);
  }
}

} // namespace

GroupDecision place_group(sched::Decider& decider, const GroupRequest& request) {
  GroupDecision group;
  sched::CycleOptions options = request.options;
  options.post_filter = sched::PostFilters::Skip;
  std::int64_t fitted = 0;
  for (const sched::PodPtr& pod : in_order(request.pending)) {
    group.members.push_back({.pod = pod, .decision = decider.decide(pod, options)});
    fitted += group.members.back().decision.placed() ? 1 : 0;
  }
  group.placed = fitted > 0 && request.already_placed + fitted >= request.min_member;
  if (!group.placed) {
    take_back(decider.framework(), decider.state(), request, fitted, group);
    return group;
  }
  // Quorum is reached inside this call: nobody is left to wait for.
  for (MemberDecision& member : group.members) {
    if (member.decision.outcome == sched::Outcome::Waiting) {
      member.decision.waits.erase(std::string(kGangPlugin));
      if (member.decision.waits.empty()) {
        member.decision.outcome = sched::Outcome::Scheduled;
      }
    }
  }
  return group;
}

} // namespace berth::gang
