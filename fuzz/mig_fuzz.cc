// Wishes for MIG instances of a card, as text after a byte that says the card. A layout keeps the
// card's rules and holds every wish; none is given only where a plain search finds none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/assert.h"
#include "berth/hardware/mig/layout.h"

namespace {

using namespace berth::hardware;

struct Card {
  std::uint32_t taken = 0; ///< memory slices
  int compute = 0;
  std::map<const MigProfile*, int> count;
};

std::uint32_t slices(const MigProfile& profile, int start) {
  return ((1U << profile.memory_slices) - 1) << start;
}

bool takes(const MigCard& card, Card& so_far, const MigProfile& profile, int start) {
  const bool fits = (so_far.taken & slices(profile, start)) == 0 &&
                    so_far.compute + profile.compute_slices <= card.compute_slices &&
                    so_far.count[&profile] < profile.most;
  if (fits) {
    so_far.taken |= slices(profile, start);
    so_far.compute += profile.compute_slices;
    ++so_far.count[&profile];
  }
  return fits;
}

/// The obvious search: each instance at each of its starts.
bool possible(const MigCard& card, const Card& so_far, std::vector<const MigProfile*> wanted) {
  if (wanted.empty()) {
    return true;
  }
  const MigProfile& next = *wanted.back();
  wanted.pop_back();
  for (const int start : next.starts) {
    Card with = so_far;
    if (takes(card, with, next, start) && possible(card, with, wanted)) {
      return true;
    }
  }
  return false;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) {
    return 0;
  }
  const auto cards = mig_cards();
  const MigCard& card = cards[data[0] % cards.size()];
  const auto wishes = parse_mig_wishes({reinterpret_cast<const char*>(data) + 1, size - 1}, card);
  if (!wishes) {
    return 0;
  }
  std::vector<const MigProfile*> wanted;
  for (const MigWish& wish : *wishes) {
    wanted.insert(wanted.end(), static_cast<std::size_t>(wish.count), wish.profile);
  }
  constexpr std::size_t kMost = 8; // more never fit, and the plain search is slow
  if (wanted.size() > kMost) {
    BERTH_ASSERT(!lay_out_card(card, *wishes), "more instances than a card has");
    return 0;
  }
  const auto layout = lay_out_card(card, *wishes);
  BERTH_ASSERT(layout.has_value() == possible(card, {}, wanted), card.name);
  Card used;
  std::map<const MigProfile*, int> given;
  for (const MigPlace& place : layout.value_or(MigLayout())) {
    BERTH_ASSERT(std::ranges::find(place.profile->starts, place.start) !=
                     place.profile->starts.end(),
                 place.profile->name);
    BERTH_ASSERT(takes(card, used, *place.profile, place.start), place.profile->name);
    ++given[place.profile];
  }
  for (const MigWish& wish : *wishes) {
    BERTH_ASSERT(!layout || given[wish.profile] >= wish.count, wish.profile->name);
  }
  return 0;
}
