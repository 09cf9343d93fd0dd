#include "berth/sched/node_ranking.h"

#include <algorithm>

#include "berth/base/assert.h"

namespace berth::sched {

namespace {

/// Classes that are empty for the moment are kept, up to so many more than there are others.
constexpr std::size_t kSpareClasses = 64;

} // namespace

std::size_t NodeRanking::KeyHash::operator()(const std::vector<std::uint64_t>& key) const noexcept {
  std::uint64_t hash = key.size();
  for (const std::uint64_t part : key) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

NodeRanking::NodeRanking(const Framework& framework, std::vector<ActiveRun> runs,
                         std::uint64_t seen)
    : runs_(std::move(runs)), seen_(seen) {
  for (std::uint32_t i = 0; i < runs_.size(); ++i) {
    const ActiveRun& active = runs_[i];
    Run* run = active.run.get();
    const bool by_domain = run->reach() == Reach::Domain;
    if (by_domain) {
      by_domain_.push_back(run);
    }
    if (active.filters && by_domain) {
      cell_filters_.push_back(run);
    } else if (active.filters) {
      filters_.emplace_back(i, run);
    }
    const Grading grading = active.scores ? run->grading() : Grading::None;
    const Scorer scorer{.run = run, .weight = framework.entries()[active.entry].weight};
    if (grading == Grading::Absolute) {
      absolute_.push_back(scorer);
    } else if (grading == Grading::Relative) {
      relative_.push_back(scorer);
      if (!by_domain) {
        graded_.push_back(scorer);
      }
    }
  }
}

bool NodeRanking::holds(const ClusterState& state) const {
  return (by_domain_.empty() || state.changed_since(seen_)) &&
         std::ranges::all_of(
             runs_, [](const ActiveRun& active) { return active.run->reach() != Reach::Cluster; });
}

void NodeRanking::sync(const ClusterState& state) {
  places_.resize(std::max(places_.size(), state.node_slots()));
  const auto changed = state.changed_since(seen_);
  BERTH_ASSERT(changed || by_domain_.empty(), "a ranking missed changes");
  dirty_.clear();
  for (const NodeChange& change : changed.value_or(std::span<const NodeChange>())) {
    if (dirty_.empty() || dirty_.back() != change.node) {
      dirty_.push_back(change.node);
    }
    for (Run* run : by_domain_) {
      run->follow(change, dirty_);
    }
  }
  seen_ = state.change_count();
  if (!changed || !everything_seen_ || dirty_.size() > 2 * places_.size()) {
    everything_seen_ = true;
    for (std::uint32_t i = 0; i < state.node_slots(); ++i) {
      look_at(state, NodeId(i));
    }
    return;
  }
  if (dirty_.size() > 2) {
    std::ranges::sort(dirty_);
    dirty_.erase(std::ranges::unique(dirty_).begin(), dirty_.end());
  }
  for (const NodeId node : dirty_) {
    look_at(state, node);
  }
}

void NodeRanking::added(const PodInfo& pod, NodeId node) {
  for (Run* run : by_domain_) {
    run->add_pod(pod, node);
  }
}

void NodeRanking::removed(const PodInfo& pod, NodeId node) {
  for (Run* run : by_domain_) {
    run->remove_pod(pod, node);
  }
}

NodeFailure NodeRanking::first_failure(NodeId node) const {
  for (const auto& [index, run] : filters_) {
    if (const Verdict verdict = run->filter(node); !verdict.ok()) {
      return {.node = node, .run = index, .verdict = verdict};
    }
  }
  return {.node = node, .run = 0, .verdict = Verdict::feasible()};
}

bool NodeRanking::fits(const ClusterState& state, NodeId node) const {
  return state.node(node).node != nullptr && first_failure(node).verdict.ok() &&
         std::ranges::all_of(cell_filters_, [&](const Run* run) { return run->filter(node).ok(); });
}

void NodeRanking::look_at(const ClusterState& state, NodeId node) {
  const NodeInfo& info = state.node(node);
  if (info.nominated > 0 || info.node == nullptr) {
    take_out(node);
    return;
  }
  const NodeFailure failure = first_failure(node);
  if (!failures_.empty()) {
    failures_.resize(std::max<std::size_t>(failures_.size(), node.index() + std::size_t{1}));
    failures_[node.index()] = failure;
  }
  if (failure.verdict.ok()) {
    admit(state, node);
  } else {
    take_out(node);
  }
}

std::optional<std::vector<NodeFailure>> NodeRanking::failures(const ClusterState& state) {
  if (!by_domain_.empty() || !state.nodes_with_nominations().empty()) {
    return std::nullopt;
  }
  if (failures_.empty()) {
    failures_.resize(state.node_slots());
    for (const NodeId node : state.nodes()) {
      failures_[node.index()] = first_failure(node);
    }
  }
  std::vector<NodeFailure> failures;
  failures.reserve(state.nodes().size());
  for (const NodeId node : state.nodes()) {
    failures.push_back(failures_[node.index()]);
  }
  return failures;
}

void NodeRanking::admit(const ClusterState& state, NodeId node) {
  Seat seat{.score = 0, .arrival = state.node(node).arrival, .node = node};
  for (const Scorer& scorer : absolute_) {
    seat.score += scorer.weight * scorer.run->score(node);
  }
  put(node, class_of(node), seat);
}

std::uint32_t NodeRanking::class_of(NodeId node) {
  key_.clear();
  for (const Scorer& scorer : graded_) {
    key_.push_back(scorer.run->grade(node));
  }
  for (const Run* run : by_domain_) {
    run->cell(node, key_);
  }
  if (const auto known = class_by_key_.find(key_); known != class_by_key_.end()) {
    return known->second;
  }
  if (empty_ > kSpareClasses + classes_.size() / 2) {
    drop_empty_classes();
  }
  std::uint32_t cls = static_cast<std::uint32_t>(classes_.size());
  if (free_.empty()) {
    classes_.emplace_back();
  } else {
    cls = free_.back();
    free_.pop_back();
  }
  ++empty_;
  class_by_key_.emplace(key_, cls);
  return cls;
}

void NodeRanking::drop_empty_classes() {
  std::erase_if(class_by_key_, [&](const auto& entry) {
    const bool empty = classes_[entry.second].heap.empty();
    if (empty) {
      free_.push_back(entry.second);
    }
    return empty;
  });
  empty_ = 0;
}

void NodeRanking::put(NodeId node, std::uint32_t cls, Seat seat) {
  if (places_[node.index()].cls != cls) {
    take_out(node);
    Class& to = classes_[cls];
    if (to.heap.empty()) {
      classes_changed_ = true;
      --empty_;
    }
    places_[node.index()] = {.cls = cls, .seat = static_cast<std::uint32_t>(to.heap.size())};
    to.heap.push_back(seat);
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
  const Seat last = cls.heap.back();
  cls.heap.pop_back();
  if (seat < cls.heap.size()) {
    move_seat(cls, seat, last);
    settle(cls, seat);
  }
  if (cls.heap.empty()) {
    classes_changed_ = true;
    ++empty_;
  }
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

/// Asks of one node of each class what holds for all of them: do they fit, and how do they compare?
void NodeRanking::compare_classes() {
  examples_.clear();
  alike_.clear();
  compared_.clear();
  for (Class& cls : classes_) {
    cls.passes = !cls.heap.empty() && std::ranges::all_of(cell_filters_, [&](const Run* run) {
      return run->filter(cls.heap.front().node).ok();
    });
    if (cls.passes) {
      cls.offset = 0;
      examples_.push_back(cls.heap.front().node);
      alike_.push_back(cls.heap.size());
      compared_.push_back(&cls);
    }
  }
  scores_.resize(examples_.size());
  for (const Scorer& scorer : relative_) {
    if (examples_.empty() || !scorer.run->pre_score_cells(examples_, alike_).ok()) {
      continue;
    }
    std::ranges::transform(examples_, scores_.begin(),
                           [&](NodeId node) { return scorer.run->score(node); });
    scorer.run->normalize(examples_, scores_);
    for (std::size_t i = 0; i < examples_.size(); ++i) {
      compared_[i]->offset += scorer.weight * scores_[i];
    }
  }
  classes_changed_ = false;
}

std::optional<BestNode> NodeRanking::choose() {
  if (classes_changed_ || !by_domain_.empty()) {
    compare_classes();
  }
  BestNode choice;
  const Seat* best = nullptr;
  std::int64_t best_total = 0;
  for (const Class& cls : classes_) {
    if (cls.heap.empty() || !cls.passes) {
      continue;
    }
    choice.feasible += cls.heap.size();
    const Seat& seat = cls.heap.front();
    const std::int64_t total = cls.offset + seat.score;
    if (best == nullptr || total > best_total ||
        (total == best_total && seat.arrival < best->arrival)) {
      best = &seat;
      best_total = total;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  choice.node = best->node;
  return choice;
}

} // namespace berth::sched
