// Where a search looks next: what counting excludes, and which nodes are best.
#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "berth/gang/group_search.h"

namespace berth::gang {
namespace {

/// Nodes that are equally good are left to the profile's scores, so many at most.
constexpr std::size_t kMostTies = 32;
constexpr std::uint32_t kClosed = ~std::uint32_t{0};

} // namespace

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
  if (has_outsiders_) {
    return false;
  }
  for (std::size_t level = 0; level < units_.size(); ++level) {
    if (open_units_[level] > limits_.most_units[level]) {
      return false; // those placed earlier are spread further already
    }
  }
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

} // namespace berth::gang
