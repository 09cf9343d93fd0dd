#include "berth/hardware/choose.h"

#include <bit>
#include <cstdint>
#include <tuple>

#include "berth/hardware/combinations.h"
#include "berth/hardware/placement_table.h"

namespace berth::hardware {

namespace {

/// What a candidate is compared by, the greatest wins.
using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Key key_of(const PlacementTable& table, GpuMask free, GpuMask chosen, ChoicePolicy policy) {
  const std::int64_t all_reduce = table.all_reduce(chosen);
  const std::int64_t worth = table.worth(free & ~chosen);
  const std::int64_t far = table.closeness(chosen);
  switch (policy) {
  case ChoicePolicy::Topology:
    return {all_reduce, worth, -far, 0};
  case ChoicePolicy::Binpack:
    return {worth, all_reduce, -far, 0};
  case ChoicePolicy::Spread:
    return {table.spread(chosen), all_reduce, worth, -far};
  }
  return {};
}

} // namespace

std::optional<GpuMask> choose_gpus(const Platform& platform, GpuMask free, int k,
                                   ChoicePolicy policy, GpuMask required) {
  const auto& table = *platform.table;
  free &= table.all();
  const int more = k - std::popcount(required);
  const GpuMask open = free & ~required;
  if (k < 1 || more < 0 || (required & ~free) != 0 || more > std::popcount(open)) {
    return std::nullopt;
  }
  // Candidates come in ascending order, and only a better one replaces the best: ties go to the
  // lowest mask.
  std::optional<GpuMask> best;
  Key best_key;
  for (const GpuMask added : Combinations(open, more)) {
    const auto key = key_of(table, free, required | added, policy);
    if (!best || key > best_key) {
      best = required | added;
      best_key = key;
    }
  }
  return best;
}

std::string_view to_string(ChoicePolicy policy) {
  switch (policy) {
  case ChoicePolicy::Topology:
    return "topology";
  case ChoicePolicy::Binpack:
    return "binpack";
  case ChoicePolicy::Spread:
    return "spread";
  }
  return "";
}

} // namespace berth::hardware
