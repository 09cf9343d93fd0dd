#include "berth/sched/cycle.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/sched/cycle_steps.h"
#include "berth/sched/filter_session.h"
#include "berth/sched/message.h"
#include "berth/sched/sampling.h"
#include "berth/sched/scoring.h"

namespace berth::sched {
namespace {

constexpr Duration kMaxPermitWait = Duration::minutes(15);

Decision error_decision(std::string message) {
  Decision decision;
  decision.outcome = Outcome::Error;
  decision.message = std::move(message);
  return decision;
}

std::string fault_text(std::string_view point, const Status& status) {
  return fmt::format("running {} plugin \"{}\": {}", point, status.plugin, status.message());
}

/// The node the pod was nominated to, if it can take it: then no other is looked at.
std::optional<NodeId> fitting_nomination(FilterSession& session) {
  std::string_view name = session.state().nominated_node(session.pod()->uid);
  if (name.empty()) {
    name = session.pod()->pod->status.nominated_node_name;
  }
  const auto node = name.empty() ? std::nullopt : session.state().find_node(name);
  const auto candidates = session.candidates();
  if (!node || std::ranges::find(candidates, *node) == candidates.end()) {
    return std::nullopt;
  }
  return session.filter(*node).verdict.ok() ? node : std::nullopt;
}

/// Nodes to look at in order, and how many that fit are enough.
struct Search {
  std::vector<NodeId> nodes;
  std::size_t enough = 0;
};

Search plan_search(FilterSession& session, NodeSampling* sampling) {
  const auto candidates = session.candidates();
  Search search{.nodes = {candidates.begin(), candidates.end()}, .enough = candidates.size()};
  const auto enough = nodes_to_find(session.framework(), candidates.size());
  if (sampling == nullptr || !enough || *enough >= candidates.size()) {
    return search;
  }
  search.enough = *enough;
  search.nodes = sampling->order(session.state());
  if (session.narrowed()) {
    std::erase_if(search.nodes, [&](NodeId node) {
      return !std::ranges::binary_search(candidates, node); // PreFilter's set is sorted
    });
  }
  return search;
}

/// What a search came to.
struct Found {
  std::vector<NodeId> feasible;
  std::optional<std::string> fault; ///< a filter or an extender that failed
  std::size_t looked_at = 0;
  std::size_t of = 0; ///< zero: the search was not a sample

  /// Tells the sampling, once per decision.
  void tell(NodeSampling* sampling) const {
    if (of > 0) {
      sampling->looked_at(looked_at, of);
    }
  }
};

bool has_questions(const FilterSession& session) {
  return session.extenders != nullptr && !session.extenders->questions().empty();
}

/// Leaves what extenders leave, if there are any.
void let_extenders_filter(FilterSession& session, Found& found, Refusals refusals) {
  if (session.extenders == nullptr || found.feasible.empty() || found.fault) {
    return;
  }
  auto kept = pass_extenders(session, found.feasible, refusals);
  if (!kept) {
    found.fault = kept.error().message;
  } else {
    found.feasible = std::move(*kept).value_or(std::vector<NodeId>());
  }
}

/// Filters node by node until enough fit.
Found filter_nodes(FilterSession& session, const Search& search) {
  Found found;
  found.feasible.reserve(search.enough);
  for (const NodeId node : search.nodes) {
    if (found.feasible.size() == search.enough) {
      break;
    }
    const NodeFailure failure = session.filter(node);
    if (failure.verdict.ok()) {
      found.feasible.push_back(node);
      continue;
    }
    session.failures.push_back(failure);
    if (failure.verdict.code == StatusCode::Error) {
      found.fault = fault_text("Filter", {.code = StatusCode::Error,
                                          .reasons = session.reasons(failure),
                                          .plugin = std::string(session.plugin_of(failure))});
      break;
    }
  }
  return found;
}

Found find_feasible(FilterSession& session, NodeSampling* sampling) {
  if (const auto nominated = fitting_nomination(session)) {
    Found found{.feasible = {*nominated}};
    let_extenders_filter(session, found, Refusals::Drop);
    if (!found.feasible.empty() || found.fault || has_questions(session)) {
      return found;
    }
  }
  const Search search = plan_search(session, sampling);
  Found found = filter_nodes(session, search);
  if (search.enough < search.nodes.size()) {
    found.looked_at = found.feasible.size() + session.failures.size();
    found.of = search.nodes.size();
    std::ranges::sort(found.feasible, {},
                      [&](NodeId node) { return session.state().node(node).arrival; });
  }
  let_extenders_filter(session, found, Refusals::Count);
  return found;
}

using CountedFailures = std::vector<std::pair<NodeFailure, std::int64_t>>;

/// Reason -> nodes. Failures of one Run with one verdict share their reasons, so text is made once
/// a verdict.
ReasonHistogram histogram_of(FilterSession& session, const CountedFailures& counted) {
  ReasonHistogram histogram;
  for (const auto& [example, nodes] : counted) {
    for (std::string& reason : session.reasons(example)) {
      histogram[std::move(reason)] += nodes;
    }
  }
  const auto others =
      static_cast<std::int64_t>(session.state().nodes().size() - session.failures.size());
  if (session.absent && others > 0) {
    for (const std::string& reason : session.absent->reasons) {
      histogram[reason] += others;
    }
  }
  return histogram;
}

/// PostFilter plugins in order (spec 1.3); the last nominating result is kept, reasons add up.
PostFilterResult run_post_filters(const Framework& framework, FilterSession& session) {
  PostFilterResult kept;
  std::vector<std::string> reasons;
  for (const Plugin* plugin : framework.at(Point::PostFilter)) {
    PostFilterResult result = plugin->post_filter(session);
    result.status.plugin = plugin->name();
    const StatusCode code = result.status.code;
    kept.effects.merge(std::move(result.effects));
    if (code == StatusCode::Success || code == StatusCode::Unresolvable ||
        code == StatusCode::Error) {
      result.effects = std::move(kept.effects);
      return result;
    }
    reasons.insert(reasons.end(), result.status.reasons.begin(), result.status.reasons.end());
    if (result.nominated_node) {
      kept.nominated_node = std::move(result.nominated_node);
    }
  }
  kept.status = {.code = StatusCode::Unschedulable, .reasons = std::move(reasons), .plugin = {}};
  return kept;
}

void name_rejecting_plugins(FilterSession& session, const CountedFailures& counted,
                            Decision& decision) {
  std::set<std::string> unschedulable(session.prefilter_plugins.begin(),
                                      session.prefilter_plugins.end());
  std::set<std::string> pending;
  for (const auto& [failure, nodes] : counted) {
    (failure.verdict.code == StatusCode::Pending ? pending : unschedulable)
        .emplace(session.plugin_of(failure));
  }
  if (session.absent && session.absent->code == StatusCode::Pending) {
    unschedulable.erase(session.absent->plugin);
    pending.insert(session.absent->plugin);
  }
  decision.unschedulable_plugins.assign(unschedulable.begin(), unschedulable.end());
  decision.pending_plugins.assign(pending.begin(), pending.end());
}

enum class Rejected { AtOnce, NodeByNode };

Decision unschedulable_decision(const Framework& framework, FilterSession& session,
                                Rejected rejected, PostFilters post_filters) {
  Decision decision;
  const CountedFailures counted = count_verdicts(session.failures);
  name_rejecting_plugins(session, counted, decision);
  PostFilterResult post;
  if (post_filters == PostFilters::Run) {
    post = run_post_filters(framework, session);
    if (has_questions(session)) {
      return asking_decision(session);
    }
  }
  if (post.status.code == StatusCode::Error) {
    decision.outcome = Outcome::Error;
  }
  const auto nodes = static_cast<std::int64_t>(session.state().nodes().size());
  decision.message = failed_scheduling_message(
      nodes, rejected == Rejected::AtOnce ? session.absent->message() : "",
      rejected == Rejected::AtOnce ? ReasonHistogram() : histogram_of(session, counted),
      post.status.message());
  decision.victims = std::move(post.victims);
  decision.denominated = std::move(post.denominated);
  decision.preemption_note = std::move(post.note);
  decision.effects = std::move(post.effects);
  ClusterState& state = session.state();
  for (const PodPtr& other : decision.denominated) {
    state.clear_nomination(other->uid);
  }
  if (post.nominated_node && !post.nominated_node->empty()) {
    state.nominate(session.pod(), *post.nominated_node);
  } else if (post.nominated_node) {
    state.clear_nomination(session.pod()->uid);
  }
  decision.nominated_node = std::move(post.nominated_node);
  return decision;
}

/// The message of a pod that Reserve or Permit turned away on its node.
Decision turned_away(const Status& status) {
  Decision decision;
  decision.reserved_then_lost = true;
  if (!status.rejected()) {
    decision.outcome = Outcome::Error;
    decision.message = status.message();
    return decision;
  }
  ReasonHistogram histogram;
  for (const std::string& reason : status.reasons) {
    ++histogram[reason];
  }
  decision.message = failed_scheduling_message(1, "", histogram, "");
  (status.code == StatusCode::Pending ? decision.pending_plugins : decision.unschedulable_plugins)
      .push_back(status.plugin);
  return decision;
}

Status run_reserve(const Framework& framework, const ClusterState& state, const PodInfo& pod,
                   std::span<ActiveRun> runs, Reservation& reservation) {
  for (ActiveRun& active : runs) {
    if (active.reserves) {
      if (Status status = active.run->reserve(pod, state, reservation); !status.ok()) {
        status.plugin = framework.entries()[active.entry].plugin->name();
        return status;
      }
    }
  }
  return Status::success();
}

Status run_permit(const Framework& framework, const PodPtr& pod, const ClusterState& state,
                  Decision& decision) {
  for (Plugin* plugin : framework.at(Point::Permit)) {
    PermitResult result = plugin->permit(pod, decision.node, state);
    decision.effects.merge(std::move(result.effects));
    if (result.status.code == StatusCode::Wait) {
      decision.waits.emplace(plugin->name(), std::min(result.timeout, kMaxPermitWait));
    } else if (!result.status.ok()) {
      result.status.plugin = plugin->name();
      return std::move(result.status);
    }
  }
  return Status::success();
}

/// Scores the nodes that fit and places the pod on the best; none: looks for whom to preempt.
Decision decide_among(Framework& framework, FilterSession& session,
                      const std::vector<NodeId>& feasible, const CycleOptions& options) {
  auto table = options.explain == Explain::Table ? make_table(session, feasible) : nullptr;
  Decision decision;
  if (feasible.empty()) {
    decision =
        unschedulable_decision(framework, session, Rejected::NodeByNode, options.post_filter);
  } else {
    const auto extender_scores = ask_for_scores(session, feasible);
    if (!extender_scores) {
      return asking_decision(session);
    }
    auto best = choose_node(session, feasible,
                            {.tie_break = options.tie_break,
                             .rng = options.rng,
                             .extender_scores = *extender_scores,
                             .table = table.get()});
    if (!best) {
      return error_decision(best.error().message);
    }
    if (table != nullptr) {
      table->best = *best;
    }
    decision = place_on(framework, session.state(), session.pod(), session.runs(),
                        {.node = *best, .feasible = feasible.size()});
  }
  decision.table = std::move(table);
  return decision;
}

} // namespace

Decision decide_prepared(Framework& framework, FilterSession& session, const Status& status,
                         const CycleOptions& options) {
  if (!status.ok()) {
    if (!status.rejected()) {
      return error_decision(fault_text("PreFilter", status));
    }
    auto table = options.explain == Explain::Table ? make_table(session, {}) : nullptr;
    Decision decision =
        unschedulable_decision(framework, session, Rejected::AtOnce, options.post_filter);
    decision.table = std::move(table);
    return decision;
  }
  const Found found = find_feasible(session, options.sampling);
  if (has_questions(session)) {
    return asking_decision(session);
  }
  Decision decision = found.fault ? error_decision(*found.fault)
                                  : decide_among(framework, session, found.feasible, options);
  if (decision.questions.empty()) {
    found.tell(options.sampling);
  }
  return decision;
}

Decision decide_unfit(Framework& framework, FilterSession& session, const CycleOptions& options) {
  return unschedulable_decision(framework, session, Rejected::NodeByNode, options.post_filter);
}

Decision place_on(Framework& framework, ClusterState& state, const PodPtr& pod,
                  std::span<ActiveRun> runs, const BestNode& choice) {
  const NodeId node = choice.node;
  auto assumed = state.try_assume(pod, node);
  Decision decision;
  decision.node = node;
  decision.node_name = state.node_name(node);
  decision.feasible_nodes = static_cast<std::int64_t>(choice.feasible);
  Reservation reservation{.node = node, .slot = assumed.slot(), .gpus = 0, .annotations = {}};
  Status status = run_reserve(framework, state, *pod, runs, reservation);
  if (status.ok()) {
    if (reservation.gpus != 0) {
      state.hold_gpus(assumed.slot(), reservation.gpus);
      if (pod->share == nullptr) {
        reservation.annotations.insert_or_assign(std::string(model::kGpuIndicesAnnotation),
                                                 hardware::format_gpu_indices(reservation.gpus));
      }
    }
    if (!reservation.slices.empty()) {
      reservation.annotations.insert_or_assign(std::string(model::kGpuSlicesAnnotation),
                                               model::format_chosen_slices(reservation.slices));
      state.hold_slices(assumed.slot(),
                        std::make_shared<const model::ChosenSlices>(std::move(reservation.slices)));
    }
    if (!reservation.volumes.empty()) {
      state.assume_volumes(pod->uid, reservation.volumes);
    }
    decision.gpus = reservation.gpus;
    decision.volumes = std::move(reservation.volumes);
    decision.annotations = std::move(reservation.annotations);
    status = run_permit(framework, pod, state, decision);
  }
  if (!status.ok()) {
    Effects effects = std::move(decision.effects);
    effects.merge(framework.unreserve(pod, node, state));
    decision = turned_away(status);
    decision.effects = std::move(effects);
    decision.feasible_nodes = static_cast<std::int64_t>(choice.feasible);
    return decision;
  }
  assumed.commit();
  state.clear_nomination(pod->uid);
  decision.outcome = decision.waits.empty() ? Outcome::Scheduled : Outcome::Waiting;
  return decision;
}

Decision decide_without_nodes(const Framework& framework) {
  Decision decision;
  decision.message = kNoNodesMessage;
  for (const auto& entry : framework.entries()) {
    const bool waits_for_nodes =
        std::ranges::any_of(entry.events, [](const EventInterest& interest) {
          return interest.resource == EventResource::Node && (interest.action & actions::kAdd) != 0;
        });
    if (waits_for_nodes) {
      decision.unschedulable_plugins.emplace_back(entry.plugin->name());
    }
  }
  std::ranges::sort(decision.unschedulable_plugins);
  return decision;
}

Decision schedule_one(Framework& framework, ClusterState& state, const PodPtr& pod,
                      const CycleOptions& options) {
  BERTH_ASSERT(state.find_pod(pod->uid) == nullptr, "pod is placed already: " + pod->uid);
  if (state.nodes().empty()) {
    return decide_without_nodes(framework);
  }
  FilterSession session(framework, state, pod, options.now);
  session.extenders = options.extenders;
  const Status status = session.prepare();
  if (status.ok() && options.only) {
    session.restrict_to(*options.only);
  }
  return decide_prepared(framework, session, status, options);
}

Effects undo_decision(Framework& framework, ClusterState& state, const PodPtr& pod, NodeId node) {
  Effects effects = framework.unreserve(pod, node, state);
  state.forget(pod->uid);
  return effects;
}

} // namespace berth::sched
