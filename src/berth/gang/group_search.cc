#include "berth/gang/group_search.h"

#include <algorithm>

#include "berth/base/assert.h"

namespace berth::gang {
namespace {

/// As NodeResourcesFit counts them; a node whose GPUs went away may owe some.
std::int64_t unrequested_gpus(const sched::NodeInfo& node) {
  return std::max<std::int64_t>(0, node.allocatable.get(sched::kGpu) -
                                       node.requested.get(sched::kGpu));
}

} // namespace

GroupSearch::GroupSearch(sched::Decider& decider, const GroupRequest& request,
                         std::span<const sched::PodPtr> pods, const SpreadLevels& levels)
    : decider_(&decider), request_(&request), levels_(&levels),
      classes_(member_classes(decider, levels, pods, request.options.now)) {
  const sched::ClusterState& state = decider.state();
  const auto* fit = decider.framework().find("NodeResourcesFit");
  gpus_count_ = fit != nullptr && fit->has(sched::Point::Filter);
  stories_.resize(state.node_slots(), 0);
  free_gpus_.resize(state.node_slots(), 0);
  for (std::size_t level = 0; level < levels.depth(); ++level) {
    units_.emplace_back(levels.units(level));
    open_units_.push_back(0);
    ranks_.emplace_back(levels.units(level), 0);
  }
  for (const sched::NodeId node : state.nodes()) {
    bool somewhere = true;
    for (std::size_t level = 0; level < levels.depth(); ++level) {
      somewhere = somewhere && levels.unit(level, node) != SpreadLevels::kNowhere;
    }
    if (somewhere) {
      nodes_.push_back(node);
      set_free_gpus(node, unrequested_gpus(state.node(node)));
    }
  }
  std::ranges::sort(nodes_);
  for (const sched::NodeId node : request.placed_on) {
    if (std::ranges::binary_search(nodes_, node)) {
      count_unit(node, 1);
    } else {
      has_outsiders_ = has_outsiders_ || levels.confined();
    }
  }
  for (const MemberClass& one : classes_) {
    next_.push_back(0);
    end_.push_back(one.pods().size());
    excluded_.emplace_back(state.node_slots(), false);
    for (const sched::PodPtr& pod : one.pods()) {
      gpus_wanted_ += pod->gpus;
    }
  }
}

std::int64_t GroupSearch::remaining(std::size_t of) const {
  return static_cast<std::int64_t>(end_[of] - next_[of]);
}

bool GroupSearch::everybody_has_a_node() const {
  for (std::size_t of = 0; of < classes_.size(); ++of) {
    if (remaining(of) > 0) {
      return false;
    }
  }
  return true;
}

void GroupSearch::count_unit(sched::NodeId node, std::int64_t members) {
  for (std::size_t level = 0; level < units_.size(); ++level) {
    Unit& unit = units_[level][levels_->unit(level, node)];
    const bool was_open = unit.members > 0;
    unit.members += members;
    open_units_[level] +=
        static_cast<std::int64_t>(unit.members > 0) - static_cast<std::int64_t>(was_open);
  }
}

void GroupSearch::set_free_gpus(sched::NodeId node, std::int64_t free) {
  const std::int64_t more = free - free_gpus_[node.index()];
  free_gpus_[node.index()] = free;
  free_in_all_ += more;
  for (std::size_t level = 0; level < units_.size(); ++level) {
    units_[level][levels_->unit(level, node)].free_gpus += more;
  }
}

/// Those that follow no others come first, in order of the classes; of the rest any may be next.
GroupSearch::Frame GroupSearch::next_choice() const {
  Frame frame;
  for (std::size_t of = 0; of < classes_.size(); ++of) {
    if (remaining(of) > 0 && (frame.classes.empty() || classes_[of].follows_others())) {
      frame.classes.push_back(of);
      if (!classes_[of].follows_others()) {
        break;
      }
    }
  }
  frame.excluded = excluded_log_.size();
  return frame;
}

void GroupSearch::exclude(std::size_t of, sched::NodeId node) {
  if (!excluded_[of][node.index()]) {
    excluded_[of][node.index()] = true;
    excluded_log_.emplace_back(of, node);
  }
}

/// Nobody may be tried there for this choice, nor where it would be the same.
void GroupSearch::exclude_alike(std::size_t of, sched::NodeId node) {
  const auto same_place = [&](sched::NodeId other) {
    for (std::size_t level = 0; level < units_.size(); ++level) {
      const std::uint32_t a = levels_->unit(level, node);
      const std::uint32_t b = levels_->unit(level, other);
      if (a != b && limits_.most_units[level] < SearchLimits::kAny &&
          (units_[level][a].members > 0 || units_[level][b].members > 0 ||
           alike_->unit_kind(level, a) != alike_->unit_kind(level, b))) {
        return false;
      }
    }
    return true;
  };
  for (const sched::NodeId other : nodes_) {
    if (alike_->kind(other) == alike_->kind(node) &&
        stories_[other.index()] == stories_[node.index()] && same_place(other)) {
      exclude(of, other);
    }
  }
}

void GroupSearch::hold(std::size_t of, MemberDecision decided) {
  const sched::NodeId node = decided.decision.node;
  Placed placed{.of = of,
                .node = node,
                .moment = moment_,
                .story = stories_[node.index()],
                .free_gpus = free_gpus_[node.index()],
                .slots = {}};
  moment_ = next_moment_++;
  stories_[node.index()] = placed.story * 0x9E3779B97F4A7C15U + of + 1;
  gpus_wanted_ -= decided.pod->gpus;
  ++next_[of];
  count_unit(node, 1);
  set_free_gpus(node, unrequested_gpus(decider_->state().node(node)));
  for (MemberClass& one : classes_) {
    placed.slots.push_back(one.recount(node));
  }
  history_.push_back(std::move(placed));
  placed_.push_back(std::move(decided));
}

void GroupSearch::let_go() {
  const Placed& last = history_.back();
  const sched::PodPtr pod = placed_.back().pod;
  undo_decision(decider_->framework(), decider_->state(), pod, last.node);
  for (std::size_t of = 0; of < classes_.size(); ++of) {
    classes_[of].set_slots(last.node, last.slots[of]);
  }
  set_free_gpus(last.node, last.free_gpus);
  count_unit(last.node, -1);
  --next_[last.of];
  gpus_wanted_ += pod->gpus;
  stories_[last.node.index()] = last.story;
  moment_ = last.moment;
  history_.pop_back();
  placed_.pop_back();
}

void GroupSearch::take_back() {
  while (!history_.empty()) {
    let_go();
  }
  for (std::size_t of = 0; of < classes_.size(); ++of) {
    stay_behind(of, classes_[of].pods().size());
  }
}

/// Members of the class from this one on need no node.
void GroupSearch::stay_behind(std::size_t of, std::size_t from) {
  const auto& pods = classes_[of].pods();
  const auto count = [&](std::size_t begin, std::size_t end, std::int64_t sign) {
    for (std::size_t i = begin; i < end; ++i) {
      gpus_wanted_ -= sign * pods[i]->gpus;
      staying_ += sign;
    }
  };
  count(from, end_[of], 1);
  count(end_[of], from, -1);
  end_[of] = from;
}

sched::Decision GroupSearch::decide(const sched::PodPtr& pod, std::span<const sched::NodeId> only) {
  sched::CycleOptions options = request_->options;
  options.post_filter = sched::PostFilters::Skip;
  options.only = only;
  options.explain =
      request_->explained.contains(pod->uid) ? sched::Explain::Table : sched::Explain::No;
  return decider_->decide(pod, options);
}

/// Finds a node for the next member of the choice's class.
GroupSearch::Tried GroupSearch::try_next(std::size_t of) {
  const sched::PodPtr& pod = classes_[of].pods()[next_[of]];
  for (;;) {
    std::vector<sched::NodeId> nodes = best_nodes(of);
    if (nodes.empty()) {
      return Tried::Exhausted;
    }
    for (bool all = true; !nodes.empty(); all = false) {
      if (trials_ == last_trial_) {
        return Tried::OutOfTrials;
      }
      ++trials_;
      const auto count = all ? nodes.size() : 1;
      sched::Decision decision = decide(pod, std::span(nodes).first(count));
      if (decision.placed()) {
        hold(of, {.pod = pod, .decision = std::move(decision)});
        return Tried::Placed;
      }
      // Something that no filter of the node says stands against it: a quota, or Reserve.
      if (!classes_[of].may_go_anywhere(pod)) {
        return Tried::Exhausted;
      }
      if (count == 1) {
        exclude(of, nodes.front());
        nodes.erase(nodes.begin());
      }
    }
  }
}

/// Takes the next alternative of a choice that failed; false: there is none left.
bool GroupSearch::advance(Frame& frame) {
  if (frame.holds && frame.stays()) {
    stay_behind(frame.current(), classes_[frame.current()].pods().size());
  } else if (frame.holds) {
    const sched::NodeId node = history_.back().node;
    let_go();
    exclude_alike(frame.current(), node);
    frame.holds = false;
    return true;
  }
  frame.holds = false;
  ++frame.at;
  while (!frame.done() && frame.stays() &&
         staying_ + remaining(frame.current()) > limits_.may_stay) {
    ++frame.at;
  }
  return !frame.done();
}

void GroupSearch::unexclude(std::size_t mark) {
  for (; excluded_log_.size() > mark; excluded_log_.pop_back()) {
    const auto& [of, node] = excluded_log_.back();
    excluded_[of][node.index()] = false;
  }
}

SearchAnswer GroupSearch::run(const SearchLimits& limits, std::int64_t trials) {
  BERTH_ASSERT(history_.empty(), "a search begins with nobody placed");
  limits_ = limits;
  last_trial_ = trials_ + trials;
  if (!can_still_fit()) {
    return SearchAnswer::None;
  }
  if (!alike_) {
    alike_.emplace(decider_->state(), *levels_, nodes_, classes_);
  }
  std::vector<Frame> frames;
  SearchAnswer answer = SearchAnswer::Found;
  bool descend = true;
  while (!(descend && everybody_has_a_node())) {
    if (descend && can_still_fit()) {
      frames.push_back(next_choice());
    } else {
      while (!frames.empty() && !advance(frames.back())) {
        unexclude(frames.back().excluded);
        frames.pop_back();
      }
    }
    if (frames.empty()) {
      answer = SearchAnswer::None;
      break;
    }
    Frame& frame = frames.back();
    if (frame.stays()) {
      stay_behind(frame.current(), next_[frame.current()]);
      frame.holds = true;
      descend = true;
      continue;
    }
    const Tried tried = try_next(frame.current());
    frame.holds = tried == Tried::Placed;
    descend = frame.holds;
    if (tried == Tried::OutOfTrials) {
      answer = SearchAnswer::OutOfTrials;
      break;
    }
  }
  unexclude(0);
  if (answer != SearchAnswer::Found) {
    take_back();
  }
  return answer;
}

void GroupSearch::repeat(const std::vector<std::pair<sched::PodPtr, sched::NodeId>>& plan) {
  for (const auto& [pod, node] : plan) {
    const auto is_its = [&](const MemberClass& one) {
      return std::ranges::find(one.pods(), pod) != one.pods().end();
    };
    const auto of = std::ranges::find_if(classes_, is_its);
    sched::Decision decision = decide(pod, {&node, 1});
    BERTH_ASSERT(decision.placed(), "equal states give equal decisions");
    hold(static_cast<std::size_t>(of - classes_.begin()),
         {.pod = pod, .decision = std::move(decision)});
  }
}

} // namespace berth::gang
