#include "berth/topology/hint_merge.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

namespace berth::topology {
namespace {

/// Distinct, ascending.
using Masks = std::vector<NumaMask>;

void make_distinct(Masks& masks) {
  std::ranges::sort(masks);
  const auto repeated = std::ranges::unique(masks);
  masks.erase(repeated.begin(), repeated.end());
}

// Sum of distances over all pairs, each node with itself included: of masks of equal count the
// order of their averages.
std::int64_t spread(NumaMask mask, const Machine& machine) {
  std::int64_t sum = 0;
  const std::vector<int> ids = mask.ids();
  for (const int from : ids) {
    for (const int to : ids) {
      sum += machine.distance(from, to);
    }
  }
  return sum;
}

// The nodes that any hint names, as the places 0..n-1 of a short word.
class Places {
 public:
  explicit Places(NumaMask named) : ids_(named.ids()) {}
  std::size_t count() const { return ids_.size(); }
  std::size_t pack(NumaMask mask) const {
    std::size_t packed = 0;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      packed |= static_cast<std::size_t>(mask.has(ids_[i])) << i;
    }
    return packed;
  }
  NumaMask unpack(std::size_t packed) const {
    NumaMask mask;
    for (; packed != 0; packed &= packed - 1) {
      mask = mask | NumaMask::single(ids_[static_cast<std::size_t>(std::countr_zero(packed))]);
    }
    return mask;
  }

 private:
  std::vector<int> ids_;
};

/// How many of something have each mask.
using Counts = std::vector<std::int64_t>;

enum class Direction { ToSupersets, Back };

// Makes of each count the sum over all supersets, or undoes it.
void sum_supersets(Counts& counts, std::size_t places, Direction direction) {
  const std::int64_t sign = direction == Direction::ToSupersets ? 1 : -1;
  for (std::size_t place = 0; place < places; ++place) {
    const std::size_t bit = std::size_t{1} << place;
    for (std::size_t mask = 0; mask < counts.size(); ++mask) {
      if ((mask & bit) == 0) {
        counts[mask] += sign * counts[mask | bit];
      }
    }
  }
}

// Pairs counted by what they share: in sums over supersets, "shares at least this" is a product.
Masks shared_by_transform(const Masks& a, const Masks& b, const Places& places) {
  Counts of_a(std::size_t{1} << places.count());
  Counts of_b(of_a.size());
  for (const NumaMask mask : a) {
    of_a[places.pack(mask)] = 1;
  }
  for (const NumaMask mask : b) {
    of_b[places.pack(mask)] = 1;
  }
  sum_supersets(of_a, places.count(), Direction::ToSupersets);
  sum_supersets(of_b, places.count(), Direction::ToSupersets);
  std::ranges::transform(of_a, of_b, of_a.begin(), std::multiplies<>());
  sum_supersets(of_a, places.count(), Direction::Back);
  Masks shared;
  for (std::size_t packed = 0; packed < of_a.size(); ++packed) {
    if (of_a[packed] != 0) {
      shared.push_back(places.unpack(packed));
    }
  }
  make_distinct(shared);
  return shared;
}

Masks shared_by_pairs(const Masks& a, const Masks& b) {
  Masks shared;
  shared.reserve(a.size() * b.size());
  for (const NumaMask x : a) {
    for (const NumaMask y : b) {
      shared.push_back(x & y);
    }
  }
  make_distinct(shared);
  return shared;
}

// Every mask that one of `a` and one of `b` can share.
Masks shared_masks(const Masks& a, const Masks& b, const Places& places) {
  constexpr std::size_t kMostPlaces = 16;
  const std::size_t pairs = a.size() * b.size();
  const bool transform = places.count() <= kMostPlaces &&
                         pairs > (std::size_t{1} << places.count()) * (places.count() + 1);
  return transform ? shared_by_transform(a, b, places) : shared_by_pairs(a, b);
}

// Everything that combinations of the lists can share. Nodes that no hint names go together: one of
// them stands for all, and is shared only where no hint has a mask.
Masks reachable(const std::vector<std::vector<Hint>>& lists, NumaMask all) {
  NumaMask named;
  for (const auto& list : lists) {
    for (const Hint& hint : list) {
      named = named | (hint.affinity.value_or(NumaMask()) & all);
    }
  }
  const NumaMask unnamed(all.bits() & ~named.bits());
  const NumaMask stand_in(unnamed.bits() & (~unnamed.bits() + 1));
  const Places places(named | stand_in);
  Masks masks{named | stand_in};
  for (const auto& list : lists) {
    Masks own;
    for (const Hint& hint : list) {
      own.push_back(hint.affinity ? *hint.affinity & all : named | stand_in);
    }
    make_distinct(own);
    masks = shared_masks(masks, own, places);
  }
  for (NumaMask& mask : masks) {
    mask = mask.meets(stand_in) ? all : mask;
  }
  std::erase(masks, NumaMask());
  return masks;
}

// The distinct masks of the preferred hints, and whether a preferred hint leaves the mask open.
struct Preferred {
  Masks masks;
  bool open = false;
};

Preferred preferred_of(const std::vector<Hint>& list) {
  Preferred found;
  for (const Hint& hint : list) {
    if (hint.preferred && hint.affinity) {
      found.masks.push_back(*hint.affinity);
    }
    found.open = found.open || (hint.preferred && !hint.affinity);
  }
  make_distinct(found.masks);
  return found;
}

// The masks of preferred combinations: those that some list has and every other has or leaves open.
Masks preferred_masks(const std::vector<std::vector<Hint>>& lists, NumaMask all) {
  Masks offered;               // by lists that leave it open as well
  std::optional<Masks> agreed; // by lists that do not; none: there is no such list
  for (const auto& list : lists) {
    const Preferred own = preferred_of(list);
    if (own.open) {
      offered.insert(offered.end(), own.masks.begin(), own.masks.end());
    } else if (!agreed) {
      agreed = own.masks;
    } else {
      std::erase_if(*agreed,
                    [&](NumaMask mask) { return !std::ranges::binary_search(own.masks, mask); });
    }
  }
  if (!agreed) {
    offered.push_back(all);
  }
  Masks masks = agreed ? *std::move(agreed) : std::move(offered);
  for (NumaMask& mask : masks) {
    mask = mask & all;
  }
  std::erase(masks, NumaMask());
  return masks;
}

// B of rule 3.
int most_needed(const std::vector<std::vector<Hint>>& lists) {
  int most = 0;
  for (const auto& list : lists) {
    int least = std::numeric_limits<int>::max();
    for (const Hint& hint : list) {
      if (hint.affinity) {
        least = std::min(least, hint.affinity->count());
      }
    }
    if (least != std::numeric_limits<int>::max()) {
      most = std::max(most, least);
    }
  }
  return most;
}

// Rule 3's place of a count: B itself, then downwards, then upwards.
int distance_from(int wanted, int count) {
  return count <= wanted ? wanted - count : NumaMask::kMostNodes + count;
}

} // namespace

bool fits_better(NumaMask a, NumaMask b, const MergeRules& rules, const Machine& machine) {
  if (rules.nearness == MergeRules::Nearness::Counts && a.count() == b.count()) {
    const std::int64_t of_a = spread(a, machine);
    const std::int64_t of_b = spread(b, machine);
    return of_a != of_b ? of_a < of_b : a < b;
  }
  return a.narrower_than(b);
}

std::vector<std::vector<Hint>> lists_of(const std::vector<std::vector<ResourceHints>>& providers) {
  std::vector<std::vector<Hint>> lists;
  for (const auto& provider : providers) {
    if (provider.empty()) {
      lists.push_back({{.affinity = {}, .preferred = true}});
    }
    for (const ResourceHints& resource : provider) {
      if (!resource.hints) {
        lists.push_back({{.affinity = {}, .preferred = true}});
      } else if (resource.hints->empty()) {
        lists.push_back({{.affinity = {}, .preferred = false}});
      } else {
        lists.push_back(*resource.hints);
      }
    }
  }
  return lists;
}

Hint merge_hints(const std::vector<std::vector<Hint>>& lists, const MergeRules& rules,
                 const Machine& machine) {
  const bool impossible = std::ranges::any_of(lists, [](const auto& list) { return list.empty(); });
  if (impossible) {
    return {.affinity = rules.all, .preferred = false};
  }
  const auto better = [&](NumaMask a, NumaMask b) { return fits_better(a, b, rules, machine); };
  if (const Masks masks = preferred_masks(lists, rules.all); !masks.empty()) {
    return {.affinity = *std::ranges::min_element(masks, better), .preferred = true};
  }
  const Masks masks = reachable(lists, rules.all);
  if (masks.empty()) {
    return {.affinity = rules.all, .preferred = false};
  }
  const int wanted = most_needed(lists);
  const auto closer = [&](NumaMask a, NumaMask b) {
    const int from_a = distance_from(wanted, a.count());
    const int from_b = distance_from(wanted, b.count());
    return from_a != from_b ? from_a < from_b : better(a, b);
  };
  return {.affinity = *std::ranges::min_element(masks, closer), .preferred = false};
}

} // namespace berth::topology
