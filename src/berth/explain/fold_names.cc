// "gpu-[1-40,42],login": runs of names that differ in their last number alone are one part.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/base/ranges.h"
#include "berth/explain/attempt.h"

namespace berth::explain {
namespace {

/// A name as prefix and last number; number -1: it has none that can be folded without loss.
struct Numbered {
  std::string_view prefix;
  int number = -1;
};

Numbered split(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  const std::string_view text = name.substr(digits);
  constexpr std::size_t kMostDigits = 9;
  if (text.empty() || text.size() > kMostDigits || (text.size() > 1 && text.front() == '0')) {
    return {.prefix = name, .number = -1};
  }
  Numbered out{.prefix = name.substr(0, digits), .number = 0};
  std::from_chars(text.data(), text.data() + text.size(), out.number);
  return out;
}

/// Names that share a prefix.
struct Part {
  std::string_view prefix;
  std::vector<int> numbers; ///< ascending; none: the prefix is the whole name

  bool takes(const Numbered& next) const {
    return next.number >= 0 && !numbers.empty() && next.prefix == prefix;
  }
  std::string text() const {
    return numbers.empty()       ? std::string(prefix)
           : numbers.size() == 1 ? fmt::format("{}{}", prefix, numbers.front())
                                 : fmt::format("{}[{}]", prefix, format_ranges(numbers));
  }
  std::size_t names() const { return numbers.empty() ? 1 : numbers.size(); }
};

} // namespace

std::string fold_names(const std::vector<std::string>& names, std::size_t most) {
  std::vector<Numbered> sorted;
  std::ranges::transform(names, std::back_inserter(sorted), &split);
  std::ranges::sort(sorted, {}, [](const Numbered& n) { return std::pair(n.prefix, n.number); });
  std::vector<Part> parts;
  for (const Numbered& next : sorted) {
    if (parts.empty() || !parts.back().takes(next)) {
      parts.push_back({.prefix = next.prefix, .numbers = {}});
    }
    if (next.number >= 0) {
      parts.back().numbers.push_back(next.number);
    }
  }
  std::string out;
  std::size_t told = 0;
  for (std::size_t i = 0; i < parts.size() && i < most; ++i) {
    out += (i == 0 ? "" : ",") + parts[i].text();
    told += parts[i].names();
  }
  return told == names.size() ? out : fmt::format("{} and {} more", out, names.size() - told);
}

} // namespace berth::explain
