#include "berth/sched/decider.h"

#include <algorithm>

#include "berth/sched/cycle_steps.h"
#include "berth/sched/sampling.h"
#include "berth/sched/scoring.h"

namespace berth::sched {

/// Plugins that look beyond the shape say of this pod what they say of its like.
bool Decider::shape_tells_all(const PodPtr& pod) const {
  return std::ranges::all_of(framework_->beyond_shape(), [&](const Plugin* plugin) {
    return plugin->shape_tells(pod, *state_);
  });
}

Decider::Known& Decider::known(const PodInfo& pod) {
  if (pod.shape.index() >= known_.size()) {
    known_.resize(pod.shape.index() + std::size_t{1});
  }
  shade_.clear();
  for (const Plugin* plugin : framework_->seeing_shades()) {
    const std::size_t begin = shade_.size();
    plugin->shade(pod, *state_, shade_);
    shade_.push_back(static_cast<std::uint32_t>(shade_.size() - begin));
  }
  std::vector<Known>& shades = known_[pod.shape.index()];
  const auto it = std::ranges::find(shades, shade_, &Known::shade);
  if (it != shades.end()) {
    return *it;
  }
  if (shades.size() == kMostShades) {
    const auto oldest = std::ranges::min_element(shades, {}, &Known::used);
    drop_ranking(*oldest);
    shades.erase(oldest);
  }
  shades.emplace_back();
  shades.back().shade = shade_;
  return shades.back();
}

void Decider::drop_ranking(Known& known) {
  if (known.ranking != nullptr) {
    slots_ -= known.ranking->slots();
    known.ranking = nullptr;
  }
}

std::optional<Decision> Decider::rejected_before(const Known& known) const {
  if (!known.rejection || known.rejection->version != state_->version()) {
    return std::nullopt;
  }
  Decision decision;
  decision.message = known.rejection->message;
  decision.unschedulable_plugins = known.rejection->unschedulable_plugins;
  decision.pending_plugins = known.rejection->pending_plugins;
  return decision;
}

void Decider::remember_rejection(Known& known, const Decision& decision) const {
  const bool no_effect = decision.outcome == Outcome::Unschedulable && !decision.nominated_node &&
                         decision.victims.empty() && decision.denominated.empty() &&
                         !decision.reserved_then_lost && decision.effects.allow.empty() &&
                         decision.effects.reject.empty() && decision.effects.activate.empty();
  if (no_effect) {
    known.rejection = Rejection{.version = state_->version(),
                                .message = decision.message,
                                .unschedulable_plugins = decision.unschedulable_plugins,
                                .pending_plugins = decision.pending_plugins};
  }
}

DryRunMemo* Decider::dry_runs_of(Known& known) {
  if (known.dry_runs == nullptr) {
    std::size_t memos = 0;
    Known* oldest = nullptr;
    for (std::vector<Known>& shades : known_) {
      for (Known& other : shades) {
        memos += other.dry_runs == nullptr ? 0 : 1;
        if (other.dry_runs != nullptr && (oldest == nullptr || other.used < oldest->used)) {
          oldest = &other;
        }
      }
    }
    if (memos >= kMostDryRuns) {
      oldest->dry_runs = nullptr;
    }
    known.dry_runs = std::make_unique<DryRunMemo>();
  }
  return known.dry_runs.get();
}

/// The ranking knows that no node fits, and why.
std::optional<Decision> Decider::from_failures(NodeRanking& ranking, FilterSession& session,
                                               const CycleOptions& options) {
  const bool same_plugins =
      !session.narrowed() &&
      std::ranges::equal(ranking.runs(), session.runs(), {}, &ActiveRun::entry, &ActiveRun::entry);
  auto failures = same_plugins ? ranking.failures(*state_) : std::nullopt;
  const bool faulty = failures && std::ranges::any_of(*failures, [](const NodeFailure& failure) {
                        return failure.verdict.code == StatusCode::Error;
                      });
  if (!failures || faulty) {
    return std::nullopt;
  }
  session.failures = *std::move(failures);
  return decide_unfit(*framework_, session, options);
}

/// Where only few nodes can pass a filter, the others need not be looked at if one of these fits.
std::optional<Decision> Decider::from_few(FilterSession& session) {
  std::optional<std::span<const NodeId>> fewest;
  for (const ActiveRun& active : session.runs()) {
    const auto nodes = active.filters ? active.run->only_on() : std::nullopt;
    if (nodes && (!fewest || nodes->size() < fewest->size())) {
      fewest = nodes;
    }
  }
  if (!fewest || session.narrowed() || 2 * fewest->size() > state_->nodes().size()) {
    return std::nullopt;
  }
  std::vector<NodeId> feasible(fewest->begin(), fewest->end());
  std::erase_if(feasible, [&](NodeId node) { return !session.filter(node).verdict.ok(); });
  if (feasible.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(feasible, {}, [&](NodeId node) { return state_->node(node).arrival; });
  const auto best = choose_node(session, feasible, {});
  if (!best) {
    return std::nullopt; // the plain cycle says why
  }
  return place_on(*framework_, *state_, session.pod(), session.runs(),
                  {.node = *best, .feasible = feasible.size()});
}

/// Ranks the nodes that pods are nominated to and that can take `pod` all the same.
std::vector<NodeId> Decider::admit_nominated(NodeRanking& ranking, const PodInfo& pod) {
  std::vector<NodeId> admitted;
  for (const NodeId node : state_->nodes_with_nominations()) {
    const std::vector<PodPtr> guests = guests_for(pod, node, *state_);
    std::vector<Undo> stays;
    stays.reserve(guests.size());
    for (const PodPtr& guest : guests) {
      stays.push_back(state_->try_assume(guest, node));
      ranking.added(*guest, node);
    }
    const bool fits = ranking.fits(*state_, node);
    for (std::size_t i = guests.size(); i > 0; --i) {
      stays.pop_back();
      ranking.removed(*guests[i - 1], node);
    }
    if (fits && (guests.empty() || ranking.fits(*state_, node))) {
      ranking.admit(*state_, node);
      admitted.push_back(node);
    }
  }
  return admitted;
}

std::optional<BestNode> Decider::choose(NodeRanking& ranking, const PodInfo& pod) {
  const std::vector<NodeId> admitted = admit_nominated(ranking, pod);
  const auto choice = ranking.choose();
  std::ranges::for_each(admitted, [&](NodeId node) { ranking.take_out(node); });
  return choice;
}

Decision Decider::decide(const PodPtr& pod, const CycleOptions& options) {
  if (state_->nodes().empty()) {
    return decide_without_nodes(*framework_);
  }
  ++decisions_;
  // A pod that is nominated looks at its node first.
  const auto enough = options.sampling == nullptr
                          ? std::nullopt
                          : nodes_to_find(*framework_, state_->nodes().size());
  const bool samples = enough && *enough < state_->nodes().size();
  const bool by_shape = !samples && !options.only && options.extenders == nullptr &&
                        pod->shape.valid() && options.explain == Explain::No &&
                        options.tie_break == TieBreak::LowestIndex &&
                        pod->pod->status.nominated_node_name.empty() &&
                        state_->nominated_node(pod->uid).empty() && shape_tells_all(pod);
  if (!by_shape) {
    return schedule_one(*framework_, *state_, pod, options);
  }
  Known& shape = known(*pod);
  shape.used = decisions_;
  if (shape.ranking != nullptr && !shape.ranking->holds(*state_)) {
    drop_ranking(shape);
  }
  if (shape.ranking != nullptr) {
    slots_ -= shape.ranking->slots();
    shape.ranking->sync(*state_);
    slots_ += shape.ranking->slots();
    if (const auto choice = choose(*shape.ranking, *pod)) {
      ++quick_;
      return place_on(*framework_, *state_, pod, shape.ranking->runs(), *choice);
    }
  }
  const bool may_preempt = options.post_filter == PostFilters::Run;
  if (auto rejection = may_preempt ? rejected_before(shape) : std::nullopt) {
    ++quick_;
    return *std::move(rejection);
  }
  return decide_at_length(shape, pod, options);
}

Decision Decider::decide_at_length(Known& shape, const PodPtr& pod, const CycleOptions& options) {
  const bool may_preempt = options.post_filter == PostFilters::Run;
  const std::uint64_t seen = state_->change_count();
  FilterSession session(*framework_, *state_, pod, options.now);
  session.dry_runs = shape.ranking != nullptr ? dry_runs_of(shape) : nullptr;
  const Status status = session.prepare();
  if (status.ok() && shape.ranking != nullptr) {
    if (auto decision = from_failures(*shape.ranking, session, options)) {
      ++quick_;
      if (may_preempt) {
        remember_rejection(shape, *decision);
      }
      return *std::move(decision);
    }
  }
  if (status.ok() && !shape.met) {
    if (auto decision = from_few(session)) {
      shape.met = true;
      return *std::move(decision);
    }
  }
  if (status.ok() && shape.met && shape.ranking == nullptr && rank(shape, session, seen)) {
    const auto choice = choose(*shape.ranking, *pod);
    return choice ? place_on(*framework_, *state_, pod, shape.ranking->runs(), *choice)
                  : decide_at_length(shape, pod, options);
  }
  shape.met = true;
  Decision decision = decide_prepared(*framework_, session, status, options);
  if (may_preempt) {
    remember_rejection(shape, decision);
  }
  return decision;
}

/// Makes a ranking of what the session prepared, if that serves later pods too.
bool Decider::rank(Known& known, FilterSession& session, std::uint64_t seen) {
  const bool reaches_far = std::ranges::any_of(session.runs(), [](const ActiveRun& active) {
    return active.run->reach() == Reach::Cluster;
  });
  if (reaches_far || session.narrowed() || state_->node_slots() > kMostSlots) {
    return false;
  }
  make_room(state_->node_slots());
  known.ranking = std::make_unique<NodeRanking>(*framework_, std::move(session.runs()), seen);
  known.ranking->sync(*state_);
  slots_ += known.ranking->slots();
  return true;
}

void Decider::make_room(std::size_t slots) {
  while (slots_ + slots > kMostSlots) {
    Known* oldest = nullptr;
    for (std::vector<Known>& shades : known_) {
      for (Known& known : shades) {
        if (known.ranking != nullptr && (oldest == nullptr || known.used < oldest->used)) {
          oldest = &known;
        }
      }
    }
    if (oldest == nullptr) {
      return;
    }
    drop_ranking(*oldest);
  }
}

} // namespace berth::sched
