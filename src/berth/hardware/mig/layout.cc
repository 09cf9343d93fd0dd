#include "berth/hardware/mig/layout.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::hardware {

namespace {

constexpr std::size_t kMaxText = 4096;
constexpr int kMaxInstances = 1024;
constexpr int kMaxSteps = 100'000;
constexpr int kMostTries = 4; ///< of numbers of cards

using Mask = std::uint32_t;

Mask mask_of(const MigPlace& place) {
  return ((Mask{1} << place.profile->memory_slices) - 1) << place.start;
}

struct Used {
  Mask memory = 0;
  int compute = 0;
};

Used used_by(const MigLayout& layout) {
  Used used;
  for (const MigPlace& place : layout) {
    used.memory |= mask_of(place);
    used.compute += place.profile->compute_slices;
  }
  return used;
}

/// What a layout leaves, best first: room for each profile from the largest to the smallest, then
/// late starts.
std::vector<int> worth_of(const MigCard& card, const MigLayout& layout) {
  std::vector<int> worth;
  for (const MigProfile& profile : card.profiles) {
    worth.push_back(room_for(card, layout, profile));
  }
  MigLayout ordered = layout;
  std::ranges::stable_sort(ordered, [](const MigPlace& a, const MigPlace& b) {
    return a.profile->memory_slices < b.profile->memory_slices;
  });
  for (const MigPlace& place : ordered) {
    worth.push_back(place.start);
  }
  return worth;
}

/// Every way to place the instances, one after the other; equal ones in falling order of starts.
class Search {
 public:
  Search(const MigCard& card, const std::vector<const MigProfile*>& instances)
      : card_(card), instances_(instances) {}

  std::optional<MigLayout> best() {
    place(0, {});
    return std::move(best_);
  }

 private:
  void place(std::size_t next, Used used) {
    if (next == instances_.size()) {
      auto worth = worth_of(card_, layout_);
      if (!best_ || worth > worth_) {
        worth_ = std::move(worth);
        best_ = layout_;
      }
      return;
    }
    const MigProfile* profile = instances_[next];
    const bool again = next > 0 && instances_[next - 1] == profile;
    for (const int start : profile->starts) {
      const MigPlace here{.profile = profile, .start = start};
      if ((again && start >= layout_.back().start) || (used.memory & mask_of(here)) != 0 ||
          used.compute + profile->compute_slices > card_.compute_slices) {
        continue;
      }
      layout_.push_back(here);
      place(next + 1, {.memory = used.memory | mask_of(here),
                       .compute = used.compute + profile->compute_slices});
      layout_.pop_back();
    }
  }

  const MigCard& card_;
  const std::vector<const MigProfile*>& instances_;
  MigLayout layout_;
  std::optional<MigLayout> best_;
  std::vector<int> worth_;
};

/// Counts of instances, by the order of the wishes.
using Counts = std::vector<int>;

std::optional<MigLayout> lay_out(const MigCard& card, std::span<const MigWish> wishes,
                                 const Counts& counts) {
  std::vector<const MigProfile*> instances;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (counts[i] > wishes[i].profile->most) {
      return std::nullopt;
    }
    instances.insert(instances.end(), static_cast<std::size_t>(counts[i]), wishes[i].profile);
  }
  // The largest have the fewest places.
  std::ranges::stable_sort(instances, [](const MigProfile* a, const MigProfile* b) {
    return a->memory_slices > b->memory_slices;
  });
  auto layout = Search(card, instances).best();
  if (layout) {
    std::ranges::sort(*layout, {}, &MigPlace::start);
  }
  return layout;
}

class CardsSearch {
 public:
  CardsSearch(const MigCard& card, std::span<const MigWish> wishes) : card_(card), wishes_(wishes) {
    Counts counts(wishes.size());
    list_loads(0, counts);
    // Full cards of large instances first: small ones fill what is left, and the search ends soon
    // where there is an end.
    std::ranges::stable_sort(loads_, std::greater<>(), [this](const Counts& c) {
      return std::tuple(slices(c), compute_slices(c), -std::accumulate(c.begin(), c.end(), 0));
    });
  }

  std::optional<std::vector<MigLayout>> run(int cards) {
    Counts left;
    for (const MigWish& wish : wishes_) {
      left.push_back(wish.count);
    }
    std::vector<MigLayout> out;
    return fill(left, cards, out) ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  int slices(const Counts& counts) const {
    int sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum += counts[i] * wishes_[i].profile->memory_slices;
    }
    return sum;
  }

  int compute_slices(const Counts& counts) const {
    int sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum += counts[i] * wishes_[i].profile->compute_slices;
    }
    return sum;
  }

  /// Everything that fits on one card together.
  void list_loads(std::size_t at, Counts& counts) {
    if (at == wishes_.size()) {
      if (slices(counts) > 0 && lay_out(card_, wishes_, counts)) {
        loads_.push_back(counts);
      }
      return;
    }
    const int most = std::min(wishes_[at].profile->most, wishes_[at].count);
    for (counts[at] = 0; counts[at] <= most && slices(counts) <= card_.memory_slices;
         ++counts[at]) {
      list_loads(at + 1, counts);
    }
    counts[at] = 0;
  }

  bool fill(const Counts& left, int cards, std::vector<MigLayout>& out) {
    if (slices(left) == 0) {
      return true;
    }
    if (slices(left) > cards * card_.memory_slices || ++steps_ > kMaxSteps ||
        !tried_.insert({left, cards}).second) {
      return false;
    }
    for (const Counts& load : loads_) {
      Counts rest = left;
      bool fits = true;
      for (std::size_t i = 0; i < left.size(); ++i) {
        rest[i] -= load[i];
        fits = fits && rest[i] >= 0;
      }
      if (!fits) {
        continue;
      }
      out.push_back(*lay_out(card_, wishes_, load));
      if (fill(rest, cards - 1, out)) {
        return true;
      }
      out.pop_back();
    }
    return false;
  }

  const MigCard& card_;
  std::span<const MigWish> wishes_;
  std::vector<Counts> loads_;
  std::set<std::pair<Counts, int>> tried_;
  int steps_ = 0;
};

} // namespace

Result<std::vector<MigWish>> parse_mig_wishes(std::string_view text, const MigCard& card) {
  std::vector<MigWish> wishes;
  if (text.size() > kMaxText) {
    return fail(Code::Invalid, fmt::format("too long: at most {} bytes", kMaxText));
  }
  int total = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t cut = std::min(part.find_first_of("=:"), part.size());
    const MigProfile* profile = card.find(part.substr(0, cut));
    if (profile == nullptr) {
      std::vector<std::string_view> names;
      for (const MigProfile& known : card.profiles) {
        names.push_back(known.name);
      }
      return fail(Code::Invalid, fmt::format("{} has no profile \"{}\"; it has {}", card.name,
                                             part.substr(0, cut), fmt::join(names, ", ")));
    }
    int count = 1;
    const std::string_view number = cut < part.size() ? part.substr(cut + 1) : "1";
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), count);
    if (parsed.ec != std::errc{} || parsed.ptr != number.data() + number.size() || count < 1 ||
        count > kMaxInstances) {
      return fail(Code::Invalid, fmt::format("not a number of instances from 1 to {}: \"{}\"",
                                             kMaxInstances, part));
    }
    total += count;
    const auto same = std::ranges::find(wishes, profile, &MigWish::profile);
    if (same != wishes.end()) {
      same->count += count;
    } else {
      wishes.push_back({.profile = profile, .count = count});
    }
  }
  if (total > kMaxInstances) {
    return fail(Code::Invalid, fmt::format("at most {} instances are planned at once, together "
                                           "these are {}; plan for some of the cards at a time",
                                           kMaxInstances, total));
  }
  if (wishes.empty()) {
    return fail(Code::Invalid, "no profile is named; write as 1g.10gb=2,3g.40gb=1");
  }
  return wishes;
}

int room_for(const MigCard& card, const MigLayout& layout, const MigProfile& profile) {
  Used used = used_by(layout);
  int most = profile.most;
  for (const MigPlace& place : layout) {
    most -= place.profile == &profile ? 1 : 0;
  }
  int room = 0;
  // Places of one profile are equally long and evenly apart: taking each that is free is best.
  for (const int start : profile.starts) {
    const MigPlace here{.profile = &profile, .start = start};
    if (room < most && (used.memory & mask_of(here)) == 0 &&
        used.compute + profile.compute_slices <= card.compute_slices) {
      used.memory |= mask_of(here);
      used.compute += profile.compute_slices;
      ++room;
    }
  }
  return room;
}

std::optional<MigLayout> lay_out_card(const MigCard& card, std::span<const MigWish> wishes) {
  Counts counts;
  for (const MigWish& wish : wishes) {
    counts.push_back(wish.count);
  }
  return lay_out(card, wishes, counts);
}

std::optional<std::vector<MigLayout>> lay_out_cards(const MigCard& card,
                                                    std::span<const MigWish> wishes, int cards) {
  return CardsSearch(card, wishes).run(cards);
}

std::vector<MigLayout> lay_out_fewest_cards(const MigCard& card, std::span<const MigWish> wishes) {
  const auto rounded_up = [](int amount, int by) { return (amount + by - 1) / by; };
  int memory = 0;
  int compute = 0;
  int fewest = 1;
  int instances = 0;
  for (const MigWish& wish : wishes) {
    memory += wish.count * wish.profile->memory_slices;
    compute += wish.count * wish.profile->compute_slices;
    instances += wish.count;
    fewest = std::max(fewest, rounded_up(wish.count, wish.profile->most));
  }
  fewest = std::max(
      {fewest, rounded_up(memory, card.memory_slices), rounded_up(compute, card.compute_slices)});
  // With a card for each instance the search goes straight on: card after card as full as it goes.
  std::vector<MigLayout> found =
      lay_out_cards(card, wishes, instances).value_or(std::vector<MigLayout>());
  const int most = std::min(static_cast<int>(found.size()) - 1, fewest + kMostTries - 1);
  for (int cards = fewest; cards <= most; ++cards) {
    if (auto fewer = lay_out_cards(card, wishes, cards)) {
      return *std::move(fewer);
    }
  }
  return found;
}

} // namespace berth::hardware
