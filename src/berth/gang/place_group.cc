#include "berth/gang/place_group.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "berth/gang/choose_domain.h"
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

/// Decides members in order, each against a state that holds those before it.
class Attempt {
 public:
  Attempt(sched::Decider& decider, const GroupRequest& request)
      : decider_(&decider), request_(&request), options_(request.options) {
    options_.post_filter = sched::PostFilters::Skip;
  }

  void decide(const sched::PodPtr& pod, std::optional<std::span<const sched::NodeId>> only = {}) {
    options_.only = only;
    options_.explain =
        request_->explained.contains(pod->uid) ? sched::Explain::Table : sched::Explain::No;
    members_.push_back({.pod = pod, .decision = decider_->decide(pod, options_)});
    fitted_ += members_.back().decision.placed() ? 1 : 0;
  }
  bool all_placed() const { return fitted_ == std::ssize(members_); }
  std::int64_t fitted() const { return fitted_; }
  std::vector<MemberDecision>& members() { return members_; }

  /// Every placed member loses its node again; who failed keeps its own reason, the rest name it.
  void take_back() {
    const auto failed = std::ranges::find_if(
        members_, [](const MemberDecision& member) { return !member.decision.placed(); });
    const std::string why = failed == members_.end()
                                ? std::string("its other members are missing")
                                : fmt::format("pod \"{}\" does not fit: {}", failed->pod->name(),
                                              failed->decision.message);
    for (auto it = members_.rbegin(); it != members_.rend(); ++it) {
      if (it->decision.placed()) {
        undo_decision(decider_->framework(), decider_->state(), it->pod, it->decision.node);
        it->decision =
            refused(it->decision, failed == members_.end() ? nullptr : &failed->decision, why);
      }
    }
  }

 private:
  sched::Decision refused(sched::Decision& was, const sched::Decision* first_failure,
                          const std::string& why) const {
    sched::Decision decision;
    decision.message = fmt::format(
        "pod group \"{}\" needs {} members placed at once and {} fit: {}",
        request_->key.to_string(), request_->min_member, request_->already_placed + fitted_, why);
    if (first_failure != nullptr) {
      decision.unschedulable_plugins = first_failure->unschedulable_plugins;
      decision.pending_plugins = first_failure->pending_plugins;
    }
    wake_with_group(decision);
    decision.feasible_nodes = was.feasible_nodes;
    decision.table = std::move(was.table);
    return decision;
  }

  sched::Decider* decider_;
  const GroupRequest* request_;
  sched::CycleOptions options_;
  std::vector<MemberDecision> members_;
  std::int64_t fitted_ = 0;
};

/// The members that the choice has room for, each inside its share; none if one does not fit there
/// after all (a rule that looks across nodes can do that): then nothing is held.
std::optional<Attempt> place_in_domains(sched::Decider& decider, const GroupRequest& request,
                                        std::span<const sched::PodPtr> pods,
                                        const DomainChoice& choice) {
  Attempt attempt(decider, request);
  auto pod = pods.begin();
  for (const auto& [nodes, members] : choice.shares) {
    for (std::int64_t i = 0; i < members; ++i, ++pod) {
      attempt.decide(*pod, nodes);
      if (!attempt.all_placed()) {
        attempt.take_back();
        return std::nullopt;
      }
    }
  }
  return attempt;
}

/// Tables of the members asked about, decided as if the group asked for no topology; nothing stays.
std::map<std::string, std::unique_ptr<sched::DecisionTable>>
tables_without_topology(sched::Decider& decider, const std::vector<sched::PodPtr>& pods,
                        const GroupRequest& request) {
  std::map<std::string, std::unique_ptr<sched::DecisionTable>> tables;
  if (request.explained.empty()) {
    return tables;
  }
  Attempt attempt(decider, request);
  for (const sched::PodPtr& pod : pods) {
    attempt.decide(pod);
  }
  attempt.take_back();
  for (MemberDecision& member : attempt.members()) {
    tables.emplace(member.pod->uid, std::move(member.decision.table));
  }
  return tables;
}

/// Every member says why the topology its group asks for has no room.
GroupDecision refuse_for_topology(sched::Decider& decider, const std::vector<sched::PodPtr>& pods,
                                  const GroupRequest& request, const DomainChoices& choices) {
  GroupDecision group;
  auto tables = tables_without_topology(decider, pods, request);
  for (const sched::PodPtr& pod : pods) {
    sched::Decision decision;
    decision.table = std::move(tables[pod->uid]);
    decision.message =
        fmt::format("pod group \"{}\" needs {} members placed within one {} and at most {} fit",
                    request.key.to_string(), request.min_member - request.already_placed,
                    choices.required_key, choices.most);
    // Whatever frees or adds room may help.
    decision.unschedulable_plugins = {"GpuTopology", "NodeAffinity", "NodeResourcesFit",
                                      "NodeUnschedulable", "TaintToleration"};
    wake_with_group(decision);
    group.members.push_back({.pod = pod, .decision = std::move(decision)});
  }
  return group;
}

} // namespace

GroupDecision place_group(sched::Decider& decider, const GroupRequest& request) {
  const std::vector<sched::PodPtr> pods = in_order(request.pending);
  const DomainChoices choices = choose_domains(decider, pods, request);
  const bool confined = !choices.required_key.empty();
  if (confined && choices.best_first.empty()) {
    return refuse_for_topology(decider, pods, request, choices);
  }
  std::optional<Attempt> attempt;
  for (const DomainChoice& choice : choices.best_first) {
    attempt = place_in_domains(decider, request, pods, choice);
    if (attempt) {
      break;
    }
  }
  const bool in_domains = attempt.has_value();
  if (!attempt) {
    attempt.emplace(decider, request);
  }
  // What the chosen domains have no room for may fit elsewhere, unless all must be in one.
  if (!(confined && in_domains)) {
    for (std::size_t i = attempt->members().size(); i < pods.size(); ++i) {
      attempt->decide(pods[i], confined ? std::optional<std::span<const sched::NodeId>>(
                                              choices.best_first.front().nodes)
                                        : std::nullopt);
    }
  }
  GroupDecision group;
  const std::int64_t fitted = attempt->fitted();
  group.placed = fitted > 0 && request.already_placed + fitted >= request.min_member;
  if (!group.placed) {
    attempt->take_back();
  }
  group.members = std::move(attempt->members());
  for (std::size_t i = group.members.size(); i < pods.size(); ++i) {
    sched::Decision waits;
    waits.message = fmt::format("pod group \"{}\" has its members, and its {} has no room for more",
                                request.key.to_string(), choices.required_key);
    waits.unschedulable_plugins = {"GpuTopology", "NodeResourcesFit"};
    group.members.push_back({.pod = pods[i], .decision = std::move(waits)});
  }
  // Quorum is reached inside this call: nobody is left to wait for.
  for (MemberDecision& member : group.members) {
    if (group.placed && member.decision.outcome == sched::Outcome::Waiting) {
      member.decision.waits.erase(std::string(kGangPlugin));
      if (member.decision.waits.empty()) {
        member.decision.outcome = sched::Outcome::Scheduled;
      }
    }
  }
  return group;
}

} // namespace berth::gang
