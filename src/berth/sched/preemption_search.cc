#include "berth/sched/preemption_search.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "berth/sched/dry_run_memo.h"
#include "berth/sched/message.h"

namespace berth::sched {
namespace {

constexpr std::string_view kPrefix = "preemption: ";

PostFilterResult refused(std::string_view reason) {
  PostFilterResult result;
  result.status = Status::of(StatusCode::Unschedulable, fmt::format("{}{}", kPrefix, reason));
  return result;
}

std::string_view nominated_node_of(FilterSession& session) {
  const std::string_view known = session.state().nominated_node(session.pod()->uid);
  return known.empty() ? std::string_view(session.pod()->pod->status.nominated_node_name) : known;
}

bool waits_for_victims(FilterSession& session, NodeId nominated, const VictimRule& rule) {
  const auto failure = std::ranges::find(session.failures, nominated, &NodeFailure::node);
  if (failure != session.failures.end() && failure->verdict.code == StatusCode::Unresolvable) {
    return false;
  }
  const ClusterState& state = session.state();
  return std::ranges::any_of(state.node(nominated).pods,
                             [&](PodSlot slot) { return rule.awaits(*state.placed(slot).pod); });
}

/// Nodes that failed of something eviction might cure, in node order.
std::vector<NodeId> potential_nodes(FilterSession& session) {
  const ClusterState& state = session.state();
  const bool absent_helps = session.absent && session.absent->code == StatusCode::Unschedulable;
  std::vector<bool> helps(state.node_slots(), absent_helps);
  for (const NodeFailure& failure : session.failures) {
    helps[failure.node.index()] = failure.verdict.code == StatusCode::Unschedulable;
  }
  std::vector<NodeId> nodes;
  std::ranges::copy_if(state.nodes(), std::back_inserter(nodes),
                       [&](NodeId node) { return helps[node.index()]; });
  return nodes;
}

/// Dry runs until enough candidates are found and one breaks no budget. Reasons of the others are
/// counted.
std::vector<PreemptionCandidate>
find_candidates(FilterSession& session, const VictimRule& rule,
                const std::function<SearchBreadth(std::size_t)>& breadth,
                ReasonHistogram& reasons) {
  const auto nodes = potential_nodes(session);
  const auto unhelpful = static_cast<std::int64_t>(session.state().nodes().size() - nodes.size());
  if (unhelpful > 0) {
    reasons[std::string(kReasonNotHelpful)] = unhelpful;
  }
  std::vector<PreemptionCandidate> candidates;
  if (nodes.empty()) {
    return candidates;
  }
  const auto [first, enough] = breadth(nodes.size());
  bool harmless = false;
  std::vector<NodeFailure> failing_still;
  std::map<std::string_view, std::int64_t> others;
  DryRunMemo fresh;
  DryRunMemo& memo = session.dry_runs == nullptr ? fresh : *session.dry_runs;
  memo.open(session, rule);
  for (std::size_t i = 0; i < nodes.size() && !(harmless && candidates.size() >= enough); ++i) {
    const DryRun& run = memo.run(session, nodes[(first + i) % nodes.size()]);
    if (const auto* candidate = std::get_if<PreemptionCandidate>(&run)) {
      harmless = harmless || candidate->budget_violations == 0;
      candidates.push_back(*candidate);
    } else if (const auto* failing = std::get_if<StillFailing>(&run)) {
      failing_still.push_back(failing->failure);
    } else if (const auto* objected = std::get_if<StillObjected>(&run)) {
      ++others[objected->objection];
    } else {
      ++others[kReasonNoVictims];
    }
  }
  for (const auto& [example, count] : count_verdicts(failing_still)) {
    for (std::string& reason : session.reasons(example)) {
      reasons[std::move(reason)] += count;
    }
  }
  for (const auto& [reason, count] : others) {
    reasons[std::string(reason)] += count;
  }
  return candidates;
}

/// Extenders may drop candidates and spare victims (spec 5.1). Not Success: one failed, or has to
/// be asked first, which the cycle sees.
Status let_extenders_choose(FilterSession& session, std::vector<PreemptionCandidate>& candidates) {
  if (session.extenders == nullptr || candidates.empty()) {
    return Status::success();
  }
  VictimsByNode proposed;
  for (const PreemptionCandidate& candidate : candidates) {
    proposed.emplace(session.state().node_name(candidate.node),
                     ExtenderVictims{.pods = candidate.victims,
                                     .budget_violations = candidate.budget_violations});
  }
  auto left = session.extenders->preempt(std::move(proposed));
  if (!left) {
    return Status::of(StatusCode::Error, left.error().message);
  }
  if (!*left) {
    return Status::of(StatusCode::Unschedulable, "extenders have to be asked first");
  }
  std::erase_if(candidates, [&](PreemptionCandidate& candidate) {
    const auto kept = (*left)->find(session.state().node_name(candidate.node));
    if (kept == (*left)->end()) {
      return true;
    }
    candidate.victims = kept->second.pods;
    candidate.budget_violations = kept->second.budget_violations;
    return false;
  });
  return Status::success();
}

} // namespace

PostFilterResult preempt(FilterSession& session, const VictimRule& rule,
                         const std::function<SearchBreadth(std::size_t)>& breadth) {
  if (session.pod()->pod->spec.preemption_policy == "Never") {
    return refused(kReasonNever);
  }
  const std::string_view nominated = nominated_node_of(session);
  const auto nominated_id = nominated.empty() ? std::nullopt : session.state().find_node(nominated);
  if (nominated_id && waits_for_victims(session, *nominated_id, rule)) {
    return refused(kReasonTerminating);
  }
  ReasonHistogram reasons;
  auto candidates = find_candidates(session, rule, breadth, reasons);
  if (Status status = let_extenders_choose(session, candidates); !status.ok()) {
    return {.status = std::move(status)};
  }
  if (candidates.empty()) {
    const auto nodes = static_cast<std::int64_t>(session.state().nodes().size());
    PostFilterResult result = refused(failed_scheduling_message(nodes, "", reasons, ""));
    if (!nominated.empty()) {
      result.nominated_node = "";
    }
    return result;
  }
  const PreemptionCandidate& best = pick_candidate(candidates, session.now());
  PostFilterResult result;
  result.nominated_node = session.state().node_name(best.node);
  result.victims = best.victims;
  for (const PodPtr& other : session.state().nominated_to(best.node)) {
    if (other->priority < session.pod()->priority) {
      result.denominated.push_back(other);
    }
  }
  return result;
}

} // namespace berth::sched
