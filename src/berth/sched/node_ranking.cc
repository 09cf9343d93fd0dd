#include "berth/sched/node_ranking.h"

#include <algorithm>

#include "berth/base/assert.h"

namespace berth::sched {

NodeRanking::NodeRanking(const Framework& framework, std::vector<ActiveRun> runs)
    : runs_(std::move(runs)) {
  for (const ActiveRun& active : runs_) {
    if (active.filters) {
      filters_.push_back(active.run.get());
    }
    const Grading grading = active.scores ? active.run->grading() : Grading::None;
    if (grading != Grading::None) {
      (grading == Grading::Absolute ? absolute_ : relative_)
          .push_back({.run = active.run.get(), .weight = framework.entries()[active.entry].weight});
    }
  }
}

bool NodeRanking::holds() const {
  return std::ranges::all_of(
      runs_, [](const ActiveRun& active) { return active.run->reach() == Reach::Node; });
}

void NodeRanking::sync(const ClusterState& state) {
  places_.resize(std::max(places_.size(), state.node_slots()));
  const auto changed = everything_seen_ ? state.changed_since(seen_) : std::nullopt;
  if (!changed || changed->size() > 2 * places_.size()) {
    for (std::uint32_t i = 0; i < state.node_slots(); ++i) {
      look_at(state, NodeId(i));
    }
  } else {
    for (std::size_t i = 0; i < changed->size(); ++i) {
      if (i + 1 == changed->size() || (*changed)[i] != (*changed)[i + 1]) {
        look_at(state, (*changed)[i]);
      }
    }
  }
  everything_seen_ = true;
  seen_ = state.change_count();
}

bool NodeRanking::fits(const ClusterState& state, NodeId node) const {
  return state.node(node).node != nullptr &&
         std::ranges::all_of(filters_, [&](const Run* run) { return run->filter(node).ok(); });
}

void NodeRanking::look_at(const ClusterState& state, NodeId node) {
  if (state.node(node).nominated == 0 && fits(state, node)) {
    admit(state, node);
  } else {
    take_out(node);
  }
}

void NodeRanking::admit(const ClusterState& state, NodeId node) {
  Seat seat{.score = 0, .arrival = state.node(node).arrival, .node = node};
  for (const Scorer& scorer : absolute_) {
    seat.score += scorer.weight * scorer.run->score(node);
  }
  put(node, class_of(node), seat);
}

std::uint32_t NodeRanking::class_of(NodeId node) {
  grades_.clear();
  for (const Scorer& scorer : relative_) {
    grades_.push_back(scorer.run->grade(node));
  }
  const auto [it, fresh] =
      class_by_grades_.try_emplace(grades_, static_cast<std::uint32_t>(classes_.size()));
  if (fresh) {
    classes_.emplace_back();
  }
  return it->second;
}

void NodeRanking::put(NodeId node, std::uint32_t cls, Seat seat) {
  if (places_[node.index()].cls != cls) {
    take_out(node);
    Class& to = classes_[cls];
    classes_changed_ = classes_changed_ || to.heap.empty();
    places_[node.index()] = {.cls = cls, .seat = static_cast<std::uint32_t>(to.heap.size())};
    to.heap.push_back(seat);
    ++feasible_;
  } else {
    classes_[cls].heap[places_[node.index()].seat] = seat;
  }
  settle(classes_[cls], places_[node.index()].seat);
}

void NodeRanking::take_out(NodeId node) {
  Place& place = places_[node.index()];
  if (place.cls == kNowhere) {
    return;
  }
  Class& cls = classes_[place.cls];
  const std::size_t seat = place.seat;
  place = {};
  --feasible_;
  const Seat last = cls.heap.back();
  cls.heap.pop_back();
  if (seat < cls.heap.size()) {
    move_seat(cls, seat, last);
    settle(cls, seat);
  }
  classes_changed_ = classes_changed_ || cls.heap.empty();
}

void NodeRanking::move_seat(Class& cls, std::size_t to, const Seat& seat) {
  cls.heap[to] = seat;
  places_[seat.node.index()].seat = static_cast<std::uint32_t>(to);
}

/// Restores the heap's order around one seat that changed.
void NodeRanking::settle(Class& cls, std::size_t seat) {
  const Seat moving = cls.heap[seat];
  while (seat > 0 && moving.better_than(cls.heap[(seat - 1) / 2])) {
    move_seat(cls, seat, cls.heap[(seat - 1) / 2]);
    seat = (seat - 1) / 2;
  }
  for (std::size_t child = 2 * seat + 1; child < cls.heap.size(); child = 2 * seat + 1) {
    if (child + 1 < cls.heap.size() && cls.heap[child + 1].better_than(cls.heap[child])) {
      ++child;
    }
    if (!cls.heap[child].better_than(moving)) {
      break;
    }
    move_seat(cls, seat, cls.heap[child]);
    seat = child;
  }
  move_seat(cls, seat, moving);
}

/// Comparative scores depend only on which classes have nodes.
void NodeRanking::compare_classes() {
  std::vector<NodeId> nodes;
  std::vector<Class*> present;
  for (Class& cls : classes_) {
    if (!cls.heap.empty()) {
      cls.offset = 0;
      nodes.push_back(cls.heap.front().node);
      present.push_back(&cls);
    }
  }
  std::vector<std::int64_t> scores(nodes.size());
  for (const Scorer& scorer : relative_) {
    if (!scorer.run->pre_score(nodes).ok()) {
      continue;
    }
    std::ranges::transform(nodes, scores.begin(),
                           [&](NodeId node) { return scorer.run->score(node); });
    scorer.run->normalize(nodes, scores);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      present[i]->offset += scorer.weight * scores[i];
    }
  }
  classes_changed_ = false;
}

NodeId NodeRanking::best() {
  BERTH_ASSERT(feasible_ > 0, "nothing is feasible");
  if (classes_changed_) {
    compare_classes();
  }
  const Seat* best = nullptr;
  std::int64_t best_total = 0;
  for (const Class& cls : classes_) {
    if (cls.heap.empty()) {
      continue;
    }
    const Seat& seat = cls.heap.front();
    const std::int64_t total = cls.offset + seat.score;
    if (best == nullptr || total > best_total ||
        (total == best_total && seat.arrival < best->arrival)) {
      best = &seat;
      best_total = total;
    }
  }
  return best->node;
}

} // namespace berth::sched
