#include "berth/gang/group_search.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "berth/base/assert.h"

namespace berth::gang {
namespace {

/// Nodes that are equally good are left to the profile's scores, so many at most.
constexpr std::size_t kMostTies = 32;
constexpr std::uint32_t kClosed = ~std::uint32_t{0};

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

/// How much of `amounts` (by unit) can be had from the units that are open or may still be opened.
std::int64_t GroupSearch::reachable(std::size_t level,
                                    std::span<const std::int64_t> amounts) const {
  const auto more = static_cast<std::size_t>(
      std::max<std::int64_t>(0, limits_.most_units[level] - open_units_[level]));
  std::int64_t sum = 0;
  std::vector<std::int64_t> unopened;
  for (std::size_t unit = 0; unit < amounts.size(); ++unit) {
    if (units_[level][unit].members > 0) {
      sum += amounts[unit];
    } else if (more > 0 && amounts[unit] > 0) {
      unopened.push_back(amounts[unit]);
    }
  }
  if (more < unopened.size()) {
    std::ranges::nth_element(unopened, unopened.begin() + static_cast<std::ptrdiff_t>(more),
                             std::ranges::greater());
    unopened.resize(more);
  }
  return std::accumulate(unopened.begin(), unopened.end(), sum);
}

/// Necessary, not enough: nobody is counted twice for one slot, but classes are counted apart.
bool GroupSearch::can_still_fit() const {
  std::int64_t short_of = 0; // members
  for (std::size_t of = 0; of < classes_.size(); ++of) {
    std::int64_t room = classes_[of].counted() ? classes_[of].total() : remaining(of);
    for (std::size_t level = 0; level < units_.size() && classes_[of].counted(); ++level) {
      if (limits_.most_units[level] < SearchLimits::kAny) {
        room = std::min(room, reachable(level, classes_[of].slots_in(level)));
      }
    }
    short_of += std::max<std::int64_t>(0, remaining(of) - room);
  }
  if (staying_ + short_of > limits_.may_stay) {
    return false;
  }
  if (!gpus_count_ || limits_.may_stay > 0 || gpus_wanted_ == 0) {
    return true;
  }
  std::int64_t free = free_in_all_;
  for (std::size_t level = 0; level < units_.size(); ++level) {
    if (limits_.most_units[level] < SearchLimits::kAny) {
      std::vector<std::int64_t> by_unit;
      for (const Unit& unit : units_[level]) {
        by_unit.push_back(unit.free_gpus);
      }
      free = std::min(free, reachable(level, by_unit));
    }
  }
  return free >= gpus_wanted_;
}

std::int64_t GroupSearch::fewest_units(std::size_t level, const SearchLimits& limits) {
  limits_ = limits;
  std::int64_t too_few = std::max<std::int64_t>(0, open_units_[level] - 1);
  auto enough = static_cast<std::int64_t>(units_[level].size());
  while (too_few + 1 < enough) {
    const std::int64_t middle = (too_few + enough) / 2;
    limits_.most_units[level] = middle;
    (can_still_fit() ? enough : too_few) = middle;
  }
  return enough;
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

/// Orders the units of every level for the next member of the class: those in use first, then those
/// that could hold all that is left, the tightest first, then the roomiest.
void GroupSearch::rank_units(std::size_t of) {
  using Key = std::tuple<bool, bool, std::int64_t, std::int64_t, std::uint32_t>;
  std::vector<Key> keys;
  for (std::size_t level = 0; level < units_.size(); ++level) {
    const bool full = open_units_[level] >= limits_.most_units[level];
    keys.clear();
    for (std::uint32_t unit = 0; unit < units_[level].size(); ++unit) {
      ranks_[level][unit] = kClosed;
      const Unit& content = units_[level][unit];
      if (full && content.members == 0) {
        continue;
      }
      bool holds = !gpus_count_ || content.free_gpus >= gpus_wanted_;
      for (std::size_t other = 0; other < classes_.size() && holds; ++other) {
        holds =
            !classes_[other].counted() || classes_[other].slots_in(level, unit) >= remaining(other);
      }
      const std::int64_t slots = classes_[of].slots_in(level, unit);
      keys.emplace_back(content.members == 0, !holds,
                        holds ? content.free_gpus : -content.free_gpus, holds ? slots : -slots,
                        unit);
    }
    std::ranges::sort(keys);
    for (std::uint32_t rank = 0; rank < keys.size(); ++rank) {
      ranks_[level][std::get<4>(keys[rank])] = rank;
    }
  }
}

/// The best nodes for the next member of the class, all equally good; none: it fits nowhere.
std::vector<sched::NodeId> GroupSearch::best_nodes(std::size_t of) {
  rank_units(of);
  MemberClass& members = classes_[of];
  const sched::PodInfo& pod = *members.pods().front();
  const sched::ClusterState& state = decider_->state();
  std::vector<sched::NodeId> best;
  const auto rank = [&](std::size_t level, sched::NodeId node) {
    return ranks_[level][levels_->unit(level, node)];
  };
  // Less than 0: better than the best so far.
  const auto compare = [&](sched::NodeId node) {
    for (std::size_t level = 0; level < units_.size(); ++level) {
      const std::uint32_t a = rank(level, node);
      if (a == kClosed) {
        return 1;
      }
      if (!best.empty()) {
        if (const std::uint32_t b = rank(level, best.front()); a != b) {
          // A level below may be closed.
          for (std::size_t below = level; below < units_.size(); ++below) {
            if (rank(below, node) == kClosed) {
              return 1;
            }
          }
          return a < b ? -1 : 1;
        }
      }
    }
    if (best.empty()) {
      return -1;
    }
    const Fragments a = fragments_left(state.node(node), pod);
    const Fragments b = fragments_left(state.node(best.front()), pod);
    return a == b ? 0 : (a < b ? -1 : 1);
  };
  for (const sched::NodeId node : nodes_) {
    if (members.slots(node) == 0 || excluded_[of][node.index()] ||
        (gpus_count_ && free_gpus_[node.index()] < pod.gpus)) {
      continue;
    }
    const int order = compare(node);
    if (order > 0 || (order == 0 && best.size() == kMostTies) || !members.fits(node, moment_)) {
      continue;
    }
    if (order < 0) {
      best.clear();
    }
    best.push_back(node);
  }
  return best;
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
