#include "berth/sched/decider.h"

#include <algorithm>

#include "berth/base/assert.h"
#include "berth/sched/cycle_steps.h"
#include "berth/sched/sampling.h"

namespace berth::sched {

/// Plugins that look beyond the shape have nothing to say of this pod.
bool Decider::shape_tells_all(const PodPtr& pod) const {
  return std::ranges::all_of(framework_->entries(), [&](const Framework::Entry& entry) {
    if (!entry.beyond_shape) {
      return true;
    }
    const Prepared prepared = entry.plugin->prepare(pod, *state_);
    return prepared.run == nullptr && !prepared.nodes &&
           (prepared.status.ok() || prepared.status.code == StatusCode::Skip);
  });
}

Decider::Known& Decider::known(ShapeId shape) {
  if (shape.index() >= known_.size()) {
    known_.resize(shape.index() + 1);
  }
  return known_[shape.index()];
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
    }
    const bool fits = ranking.fits(*state_, node);
    while (!stays.empty()) {
      stays.pop_back();
    }
    if (fits && (guests.empty() || ranking.fits(*state_, node))) {
      ranking.admit(*state_, node);
      admitted.push_back(node);
    }
  }
  return admitted;
}

std::optional<Decision> Decider::from_ranking(NodeRanking& ranking, const PodPtr& pod) {
  const std::vector<NodeId> admitted = admit_nominated(ranking, *pod);
  const std::size_t feasible = ranking.feasible();
  const NodeId best = feasible > 0 ? ranking.best() : NodeId();
  std::ranges::for_each(admitted, [&](NodeId node) { ranking.take_out(node); });
  if (feasible == 0) {
    return std::nullopt;
  }
  Decision decision = place_on(*framework_, *state_, pod, ranking.runs(), best);
  decision.feasible_nodes = static_cast<std::int64_t>(feasible);
  return decision;
}

Decision Decider::decide(const PodPtr& pod, const CycleOptions& options) {
  BERTH_ASSERT(state_->find_pod(pod->uid) == nullptr, "pod is placed already: " + pod->uid);
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
  Known& shape = known(pod->shape);
  shape.used = decisions_;
  if (shape.ranking != nullptr && !shape.ranking->holds()) {
    slots_ -= shape.ranking->slots();
    shape.ranking = nullptr;
  }
  if (shape.ranking != nullptr) {
    slots_ -= shape.ranking->slots();
    shape.ranking->sync(*state_);
    slots_ += shape.ranking->slots();
    if (auto decision = from_ranking(*shape.ranking, pod)) {
      ++quick_;
      return *std::move(decision);
    }
  }
  const bool may_preempt = options.post_filter == PostFilters::Run;
  if (auto rejection = may_preempt ? memo_.find(*state_, *pod) : std::nullopt) {
    ++quick_;
    return *std::move(rejection);
  }
  FilterSession session(*framework_, *state_, pod, options.now);
  const Status status = session.prepare();
  Decision decision = decide_prepared(*framework_, session, status, options);
  if (may_preempt) {
    memo_.remember(*state_, *pod, decision);
  }
  if (status.ok() && shape.met && shape.ranking == nullptr) {
    keep(shape, session);
  }
  shape.met = true;
  return decision;
}

void Decider::keep(Known& known, FilterSession& session) {
  const bool node_by_node =
      !session.narrowed() && std::ranges::all_of(session.runs(), [](const ActiveRun& active) {
        return active.run->reach() == Reach::Node;
      });
  if (!node_by_node || state_->node_slots() > kMostSlots) {
    return;
  }
  make_room(state_->node_slots());
  known.ranking = std::make_unique<NodeRanking>(*framework_, std::move(session.runs()));
  known.ranking->sync(*state_);
  slots_ += known.ranking->slots();
}

void Decider::make_room(std::size_t slots) {
  while (slots_ + slots > kMostSlots) {
    Known* oldest = nullptr;
    for (Known& known : known_) {
      if (known.ranking != nullptr && (oldest == nullptr || known.used < oldest->used)) {
        oldest = &known;
      }
    }
    if (oldest == nullptr) {
      return;
    }
    slots_ -= oldest->ranking->slots();
    oldest->ranking = nullptr;
  }
}

} // namespace berth::sched
