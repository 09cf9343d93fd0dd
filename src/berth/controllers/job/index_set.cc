#include "berth/controllers/job/index_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace berth::controllers {
namespace {

std::optional<std::int64_t> parse_index(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

} // namespace

IndexSet IndexSet::parse(std::string_view text, std::int64_t limit) {
  IndexSet set;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);

    const auto dash = part.find('-');
    const auto first = parse_index(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_index(part.substr(dash + 1));
    if (!first || !last || *first > *last || *first >= limit) {
      continue;
    }
    set.insert_interval({.first = *first, .last = std::min(*last, limit - 1)});
  }
  return set;
}

void IndexSet::insert(std::int64_t index) {
  insert_interval({.first = index, .last = index});
}

void IndexSet::insert_interval(Interval added) {
  // The intervals that touch or overlap the new one melt into it.
  const auto begin = std::ranges::lower_bound(intervals_, added.first - 1, {}, &Interval::last);
  const auto end =
      std::upper_bound(begin, intervals_.end(), added.last + 1,
                       [](std::int64_t value, const Interval& i) { return value < i.first; });
  if (begin != end) {
    added.first = std::min(added.first, begin->first);
    added.last = std::max(added.last, std::prev(end)->last);
  }
  intervals_.insert(intervals_.erase(begin, end), added);
}

bool IndexSet::contains(std::int64_t index) const {
  const auto it = std::ranges::lower_bound(intervals_, index, {}, &Interval::last);
  return it != intervals_.end() && it->first <= index;
}

std::int64_t IndexSet::size() const {
  std::int64_t total = 0;
  for (const Interval& i : intervals_) {
    total += i.last - i.first + 1;
  }
  return total;
}

std::string IndexSet::to_string() const {
  std::string text;
  for (const Interval& i : intervals_) {
    if (!text.empty()) {
      text += ',';
    }
    text += fmt::format("{}", i.first);
    if (i.last > i.first) {
      text += fmt::format("{}{}", i.last == i.first + 1 ? ',' : '-', i.last);
    }
  }
  return text;
}

} // namespace berth::controllers
