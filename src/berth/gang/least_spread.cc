#include "berth/gang/least_spread.h"

#include <utility>
#include <vector>

namespace berth::gang {
namespace {

/// A placement to come back to.
struct Plan {
  explicit Plan(const GroupSearch& search, const SpreadLevels& levels) {
    for (const MemberDecision& member : search.placed()) {
      members.emplace_back(member.pod, member.decision.node);
    }
    for (std::size_t level = 0; level < levels.depth(); ++level) {
      units.push_back(search.units_in_use(level));
    }
  }

  std::vector<std::pair<sched::PodPtr, sched::NodeId>> members;
  std::vector<std::int64_t> units; ///< by level
};

} // namespace

SearchLimits widest_limits(const SpreadLevels& levels) {
  SearchLimits limits{.most_units = std::vector<std::int64_t>(levels.depth(), SearchLimits::kAny)};
  if (levels.confined()) {
    limits.most_units.front() = 1;
  }
  return limits;
}

LeastSpread place_with_least_spread(GroupSearch& search, const SpreadLevels& levels,
                                    std::int64_t trials) {
  SearchLimits limits = widest_limits(levels);
  std::vector<std::int64_t> fewest; // by level, whatever the other levels
  for (std::size_t level = 0; level < levels.depth(); ++level) {
    fewest.push_back(search.fewest_units(level, limits));
  }
  LeastSpread result{.answer = search.run(limits, trials)};
  if (result.answer != SearchAnswer::Found) {
    return result;
  }
  Plan best(search, levels);
  const std::int64_t last_trial = search.trials() + trials;
  for (std::size_t level = 0; level < levels.depth(); ++level) {
    if (fewest[level] < best.units[level]) {
      search.take_back(); // counting needs an empty board
      fewest[level] = search.fewest_units(level, limits);
    }
    for (; fewest[level] < best.units[level]; ++fewest[level]) {
      SearchLimits tighter = limits;
      tighter.most_units[level] = fewest[level];
      const SearchAnswer answer = search.run(tighter, last_trial - search.trials());
      if (answer == SearchAnswer::Found) {
        best = Plan(search, levels);
      }
      result.proven = result.proven && answer != SearchAnswer::OutOfTrials;
    }
    limits.most_units[level] = best.units[level];
  }
  if (search.placed().empty()) {
    search.repeat(best.members);
  }
  return result;
}

} // namespace berth::gang
