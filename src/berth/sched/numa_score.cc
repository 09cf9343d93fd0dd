// Scores of numa_fit.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "berth/sched/numa_fit.h"

namespace berth::sched {
namespace {

constexpr std::int64_t kMost = 100;
constexpr std::int64_t kHighestNumaId = 8;
constexpr std::int64_t kFarthest = 255; ///< where a report does not tell a distance

/// Quantity.Value(): whole units, rounded up.
std::int64_t whole(ResourceId resource, std::int64_t amount) {
  return resource == kCpu ? amount / 1000 + (amount % 1000 == 0 ? 0 : 1) : amount;
}

std::int64_t least_allocated(std::int64_t asked, std::int64_t free) {
  return free <= 0 || asked > free ? 0 : (free - asked) * kMost / free;
}

std::int64_t most_allocated(std::int64_t asked, std::int64_t free) {
  return free <= 0 || asked > free ? 0 : asked * kMost / free;
}

class Scorer {
 public:
  Scorer(const NumaScoring& scoring, const ResourceNames& names)
      : scoring_(&scoring), names_(&names) {}

  /// The least over the zones; a zone that says 0 is one the kubelet would not take.
  std::int64_t score(const NumaAsks& asks, const ZoneRoom& room) const {
    std::int64_t least = 0;
    for (const KnownAmounts& zone : room) {
      const std::int64_t here = score_zone(asks, zone);
      if (least == 0 || (here != 0 && here < least)) {
        least = here;
      }
    }
    return least;
  }

 private:
  std::int64_t score_zone(const NumaAsks& asks, const KnownAmounts& zone) const {
    if (scoring_->strategy == NumaStrategy::BalancedAllocation) {
      return balanced(asks, zone);
    }
    std::int64_t sum = 0;
    std::int64_t weights = 0;
    for (const NumaAsk& ask : asks) {
      const std::int64_t* free = find_amount(zone, ask.resource);
      const std::int64_t asked = whole(ask.resource, ask.amount);
      const std::int64_t left = free == nullptr ? 0 : whole(ask.resource, *free);
      const std::int64_t weight = weight_of(ask.resource);
      sum += weight * (scoring_->strategy == NumaStrategy::MostAllocated
                           ? most_allocated(asked, left)
                           : least_allocated(asked, left));
      weights += weight;
    }
    return weights == 0 ? 0 : sum / weights;
  }

  std::int64_t weight_of(ResourceId resource) const {
    const auto it = scoring_->weights.find(names_->name(resource));
    return it == scoring_->weights.end() ? 1 : std::max<std::int64_t>(1, it->second);
  }

  /// The sample variance; of one number it is 0.
  static std::int64_t balanced(const NumaAsks& asks, const KnownAmounts& zone) {
    std::vector<double> shares;
    double sum = 0;
    for (const NumaAsk& ask : asks) {
      const std::int64_t* free = find_amount(zone, ask.resource);
      const std::int64_t left = free == nullptr ? 0 : whole(ask.resource, *free);
      const double share = left <= 0 ? 1
                                     : static_cast<double>(whole(ask.resource, ask.amount)) /
                                           static_cast<double>(left);
      if (share > 1) {
        return 0;
      }
      shares.push_back(share);
      sum += share;
    }
    if (shares.size() < 2) {
      return kMost;
    }
    const double mean = sum / static_cast<double>(shares.size());
    double squares = 0;
    for (const double share : shares) {
      squares += (share - mean) * (share - mean);
    }
    const double variance = squares / static_cast<double>(shares.size() - 1);
    return static_cast<std::int64_t>((1 - variance) * static_cast<double>(kMost));
  }

  const NumaScoring* scoring_;
  const ResourceNames* names_;
};

/// Zones by index.
using Zones = std::vector<std::size_t>;

/// The next combination of as many of `n`, in lexical order; false after the last.
bool next_combination(Zones& zones, std::size_t n) {
  for (std::size_t i = zones.size(); i-- > 0;) {
    if (zones[i] + (zones.size() - i) < n) {
      ++zones[i];
      for (std::size_t j = i + 1; j < zones.size(); ++j) {
        zones[j] = zones[j - 1] + 1;
      }
      return true;
    }
  }
  return false;
}

/// Sum over all pairs, each zone with itself included; compares as the mean does, for equal sizes.
std::int64_t distance(const NumaReport& report, const Zones& zones) {
  std::int64_t sum = 0;
  for (const std::size_t a : zones) {
    for (const std::size_t b : zones) {
      const auto cost = report.zones[a].costs.find(report.zones[b].id);
      sum += cost == report.zones[a].costs.end() ? kFarthest : cost->second;
    }
  }
  return sum;
}

bool hold(const NumaAsks& asks, const ZoneRoom& room, const Zones& zones) {
  return std::ranges::all_of(asks, [&](const NumaAsk& ask) {
    std::int64_t free = 0;
    for (const std::size_t zone : zones) {
      const std::int64_t* here = find_amount(room[zone], ask.resource);
      free += here == nullptr ? 0 : *here;
    }
    const bool listed = std::ranges::any_of(
        room, [&](const KnownAmounts& zone) { return find_amount(zone, ask.resource) != nullptr; });
    return free >= ask.amount || (!listed && ask.host_level);
  });
}

struct Choice {
  Zones zones;        ///< empty: all zones together are not enough
  bool close = false; ///< no as many zones are closer together
};

Choice choose_zones(const NumaAsks& asks, const NumaReport& report, const ZoneRoom& room) {
  for (std::size_t size = 1; size <= room.size(); ++size) {
    Zones zones(size);
    for (std::size_t i = 0; i < size; ++i) {
      zones[i] = i;
    }
    std::int64_t closest = std::numeric_limits<std::int64_t>::max();
    std::int64_t best = closest;
    Choice choice;
    do {
      const std::int64_t here = distance(report, zones);
      closest = std::min(closest, here);
      if (here < best && hold(asks, room, zones)) {
        best = here;
        choice.zones = zones;
      }
    } while (next_combination(zones, room.size()));
    if (!choice.zones.empty()) {
      choice.close = best == closest;
      return choice;
    }
  }
  return {};
}

/// From the zones in order, as far as each goes.
void take(const NumaAsks& asks, const Zones& zones, ZoneRoom& room) {
  for (const NumaAsk& ask : asks) {
    std::int64_t rest = ask.amount;
    for (const std::size_t zone : zones) {
      for (auto& [resource, free] : room[zone]) {
        if (resource == ask.resource) {
          const std::int64_t taken = std::clamp<std::int64_t>(free, 0, rest);
          free -= taken;
          rest -= taken;
        }
      }
    }
  }
}

bool concerns_zones(const NumaAsks& asks, const ZoneRoom& room) {
  return std::ranges::any_of(asks, [&](const NumaAsk& ask) {
    return std::ranges::any_of(
        room, [&](const KnownAmounts& zone) { return find_amount(zone, ask.resource) != nullptr; });
  });
}

std::int64_t least_numa_nodes(const NumaPod& pod, const NumaReport& report, ZoneRoom& room) {
  if (room.size() > kMostZonesCombined) {
    return 0;
  }
  constexpr std::int64_t kStep = kMost / kHighestNumaId;
  std::size_t most = 0;
  bool close = true;
  const auto look_at = [&](const NumaAsks& asks) {
    if (!concerns_zones(asks, room)) {
      return true;
    }
    const Choice choice = choose_zones(asks, report, room);
    most = std::max(most, choice.zones.size());
    close = close && choice.close;
    take(asks, choice.zones, room);
    return !choice.zones.empty();
  };
  const bool fits = report.scope == NumaScope::Pod
                        ? look_at(pod.whole)
                        : std::ranges::all_of(pod.containers, [&](const auto& container) {
                            return look_at(container.asks);
                          });
  if (!fits) {
    return 0;
  }
  const auto needed = static_cast<std::int64_t>(most);
  return needed == 0
             ? kMost
             : std::clamp<std::int64_t>(kMost - needed * kStep + (close ? kStep / 2 : 0), 0, kMost);
}

} // namespace

std::int64_t numa_score(const NumaPod& pod, const NumaReport& report, const NumaScoring& scoring,
                        const ResourceNames& names, ZoneRoom& room) {
  if (scoring.strategy == NumaStrategy::LeastNumaNodes) {
    return least_numa_nodes(pod, report, room);
  }
  if (!report.single_numa_node) {
    return 0;
  }
  const Scorer scorer(scoring, names);
  if (report.scope == NumaScope::Pod) {
    return scorer.score(pod.whole, room);
  }
  double sum = 0;
  for (const NumaPod::Container& container : pod.containers) {
    sum += static_cast<double>(scorer.score(container.asks, room));
  }
  return pod.containers.empty()
             ? 0
             : static_cast<std::int64_t>(sum / static_cast<double>(pod.containers.size()));
}

} // namespace berth::sched
