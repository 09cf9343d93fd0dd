#include "berth/hardware/choose.h"

#include <array>
#include <bit>
#include <charconv>
#include <tuple>

#include <fmt/format.h>

#include "berth/hardware/placement_table.h"

namespace berth::hardware {

namespace {

/// What the first candidate with the greatest key is, in three steps of 32 bits.
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

/// The next number with as many bits set; 0 after the last below 2^32.
std::uint64_t next_combination(std::uint64_t bits) {
  const std::uint64_t lowest = bits & -bits;
  const std::uint64_t ripple = bits + lowest;
  return ripple | (((bits ^ ripple) >> 2) / lowest);
}

/// Puts bit i of `bits` where the i-th set bit of `places` is.
GpuMask scatter(std::uint64_t bits, GpuMask places) {
  GpuMask result = 0;
  for (; bits != 0; bits >>= 1, places &= places - 1) {
    result |= (bits & 1) != 0 ? places & -places : 0;
  }
  return result;
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
  if (more == 0) {
    return required;
  }
  // Candidates come in ascending order of mask, and only a better one replaces the best: ties go to
  // the lowest.
  std::optional<GpuMask> best;
  Key best_key;
  const std::uint64_t end = std::uint64_t{1} << std::popcount(open);
  for (std::uint64_t bits = (std::uint64_t{1} << more) - 1; bits < end;
       bits = next_combination(bits)) {
    const GpuMask candidate = required | scatter(bits, open);
    const auto key = key_of(table, free, candidate, policy);
    if (!best || key > best_key) {
      best = candidate;
      best_key = key;
    }
  }
  return best;
}

std::optional<GpuMask> parse_gpu_indices(std::string_view text) {
  GpuMask mask = 0;
  if (text.empty()) {
    return mask;
  }
  while (true) {
    unsigned index = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    const auto digits = static_cast<std::size_t>(end - text.data());
    const bool padded = digits > 1 && text.front() == '0';
    if (error != std::errc{} || padded || index > 31 || (mask >> index & 1) != 0) {
      return std::nullopt;
    }
    mask |= GpuMask{1} << index;
    text.remove_prefix(digits);
    if (text.empty()) {
      return mask;
    }
    if (text.front() != ',') {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
}

std::string format_gpu_indices(GpuMask mask) {
  std::string text;
  for (GpuMask rest = mask; rest != 0; rest &= rest - 1) {
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",",
                   std::countr_zero(rest));
  }
  return text;
}

} // namespace berth::hardware
