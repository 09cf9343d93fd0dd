#include "berth/sched/plugins/default_preemption.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/filter_session.h"
#include "berth/sched/message.h"
#include "berth/sched/preemption.h"

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

/// A victim of an earlier preemption is on its way out: wait for it.
bool is_leaving_for_preemption(const PodInfo& pod) {
  const auto* condition = pod.pod->status.condition("DisruptionTarget");
  return pod.pod->meta.deletion_timestamp && condition != nullptr && condition->status == "True" &&
         condition->reason == "PreemptionByScheduler";
}

bool waits_for_victims(FilterSession& session, NodeId nominated) {
  const auto failure = std::ranges::find(session.failures, nominated, &NodeFailure::node);
  if (failure != session.failures.end() && failure->verdict.code == StatusCode::Unresolvable) {
    return false;
  }
  const ClusterState& state = session.state();
  return std::ranges::any_of(state.node(nominated).pods, [&](PodSlot slot) {
    const PodInfo& other = *state.placed(slot).pod;
    return other.priority < session.pod()->priority && is_leaving_for_preemption(other);
  });
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

/// Where the search starts: differs from pod to pod so that not always the same nodes pay, and is a
/// function of the pod.
std::size_t start_offset(const PodInfo& pod, std::size_t nodes) {
  std::uint64_t hash = 14695981039346656037ULL; // FNV-1a
  for (const char c : pod.uid) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return static_cast<std::size_t>(hash % nodes);
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

class DefaultPreemption final : public Plugin {
 public:
  explicit DefaultPreemption(DefaultPreemptionArgs args) : args_(args) {}

  std::string_view name() const override { return kDefaultPreemption; }
  Points points() const override { return static_cast<Points>(Point::PostFilter); }

  PostFilterResult post_filter(FilterSession& session) const override {
    if (session.pod()->pod->spec.preemption_policy == "Never") {
      return refused(kReasonNever);
    }
    const std::string_view nominated = nominated_node_of(session);
    const auto nominated_id =
        nominated.empty() ? std::nullopt : session.state().find_node(nominated);
    if (nominated_id && waits_for_victims(session, *nominated_id)) {
      return refused(kReasonTerminating);
    }
    ReasonHistogram reasons;
    auto candidates = find_candidates(session, reasons);
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

 private:
  std::size_t wanted_candidates(std::size_t nodes) const {
    const auto n = static_cast<std::int64_t>(nodes);
    const std::int64_t wanted = std::max(n * args_.min_candidate_nodes_percentage / 100,
                                         args_.min_candidate_nodes_absolute);
    return static_cast<std::size_t>(std::min(wanted, n));
  }

  /// Dry runs until enough candidates are found and one breaks no budget. Reasons of the others are
  /// counted.
  std::vector<PreemptionCandidate> find_candidates(FilterSession& session,
                                                   ReasonHistogram& reasons) const {
    const auto nodes = potential_nodes(session);
    if (const auto others =
            static_cast<std::int64_t>(session.state().nodes().size() - nodes.size());
        others > 0) {
      reasons[std::string(kReasonNotHelpful)] = others;
    }
    std::vector<PreemptionCandidate> candidates;
    if (nodes.empty()) {
      return candidates;
    }
    const std::size_t wanted = wanted_candidates(nodes.size());
    const std::size_t offset = start_offset(*session.pod(), nodes.size());
    bool harmless = false;
    for (std::size_t i = 0; i < nodes.size() && !(harmless && candidates.size() >= wanted); ++i) {
      DryRun run = select_victims(session, nodes[(offset + i) % nodes.size()]);
      if (auto* candidate = std::get_if<PreemptionCandidate>(&run)) {
        harmless = harmless || candidate->budget_violations == 0;
        candidates.push_back(std::move(*candidate));
      } else if (const auto* failing = std::get_if<StillFailing>(&run)) {
        for (std::string& reason : session.reasons(failing->failure)) {
          ++reasons[std::move(reason)];
        }
      } else {
        ++reasons[std::string(kReasonNoVictims)];
      }
    }
    return candidates;
  }

  DefaultPreemptionArgs args_;
};

} // namespace

void decode(const api::Field& in, DefaultPreemptionArgs& out) {
  constexpr std::string_view kPercentage = "minCandidateNodesPercentage";
  constexpr std::string_view kAbsolute = "minCandidateNodesAbsolute";
  api::refuse_unknown(in, {kPercentage, kAbsolute});
  in.within(kPercentage, [&](const api::Field& field) {
    decode(field, out.min_candidate_nodes_percentage);
    api::check_range(field, out.min_candidate_nodes_percentage, 0, 100);
  });
  in.within(kAbsolute, [&](const api::Field& field) {
    int nodes = 0;
    decode(field, nodes);
    if (nodes < 0) {
      api::refuse_value(field, "not in valid range [0, inf)");
    }
    out.min_candidate_nodes_absolute = nodes;
  });
  if (out.min_candidate_nodes_percentage == 0 && out.min_candidate_nodes_absolute == 0) {
    in.fail_member(
        kPercentage,
        "Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute");
  }
}

Result<DefaultPreemptionArgs> parse_default_preemption_args(const boost::json::value& args) {
  return api::decode_document<DefaultPreemptionArgs>(args);
}

std::unique_ptr<Plugin> make_default_preemption(DefaultPreemptionArgs args) {
  return std::make_unique<DefaultPreemption>(args);
}

} // namespace berth::sched
