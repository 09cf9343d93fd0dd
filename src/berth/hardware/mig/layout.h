// Laying out MIG instances: exact on one card, and over several. What is free afterwards stays as
// useful as it can: a layout that leaves room for a larger instance comes before one that does not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/hardware/mig/geometry.h"

namespace berth::hardware {

struct MigPlace {
  const MigProfile* profile = nullptr;
  int start = 0; ///< first memory slice
  bool operator==(const MigPlace&) const = default;
};

/// One card's instances, by their starts.
using MigLayout = std::vector<MigPlace>;

/// How many instances of a card's profile are wanted.
struct MigWish {
  const MigProfile* profile = nullptr;
  int count = 0;
};

/// "1g.5gb=5,3g.20gb=1" or "1g.5gb:5". Errors Invalid name the profile and those the card has. At
/// most 4 KiB and 1024 instances.
Result<std::vector<MigWish>> parse_mig_wishes(std::string_view text, const MigCard& card);

/// The best layout of all that hold every wish; nullopt if none does. Instances are disjoint in
/// memory slices, within the card's compute slices and each profile's bound. Of equal layouts the
/// one whose instances start latest, smallest first, so that the answer is a function of its
/// inputs. Exhaustive: at most some ten thousand layouts.
std::optional<MigLayout> lay_out_card(const MigCard& card, std::span<const MigWish> wishes);

/// The same over `cards` equal cards, none of which need be used; fills one after the other. Exact
/// unless the search grows beyond its bound (100,000 steps), when it fails as if nothing fitted.
std::optional<std::vector<MigLayout>> lay_out_cards(const MigCard& card,
                                                    std::span<const MigWish> wishes, int cards);

/// The same over as few equal cards as are found to do. Never more than filling card after card as
/// full as it goes comes to; fewer where the exact search, which is tried on up to four numbers of
/// cards, says so. Precondition: some instance is wanted.
std::vector<MigLayout> lay_out_fewest_cards(const MigCard& card, std::span<const MigWish> wishes);

/// How many instances of the profile fit beside a layout, nothing else being added.
int room_for(const MigCard& card, const MigLayout& layout, const MigProfile& profile);

} // namespace berth::hardware
