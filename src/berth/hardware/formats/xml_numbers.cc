#include "berth/hardware/formats/xml_numbers.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>

#include <fmt/format.h>

namespace berth::hardware {

namespace {

/// Nothing if the text is no number, or more than an int holds.
std::optional<int> number_in(std::string_view text) {
  const bool hex = text.starts_with("0x");
  text.remove_prefix(hex ? 2 : 0);
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional(value)
                                                                             : std::nullopt;
}

} // namespace

int line_at(std::string_view text, std::ptrdiff_t offset) {
  const auto end = std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text));
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + end, '\n'));
}

int XmlNumbers::of(pugi::xml_node node, const char* name, int absent) {
  const std::string_view text = node.attribute(name).value();
  const auto value = number_in(text);
  if (!value && !text.empty()) {
    unreadable_.emplace(line_at(text_, node.offset_debug()),
                        fmt::format("{} \"{}\"", name, text.substr(0, 40)));
  }
  return value.value_or(absent);
}

void XmlNumbers::tell(std::vector<std::string>& notes) const {
  constexpr std::size_t kNamed = 8;
  for (const auto& [line, what] : unreadable_ | std::views::take(kNamed)) {
    notes.push_back(fmt::format("line {}: {} is no number: taken as not said", line, what));
  }
  if (unreadable_.size() > kNamed) {
    notes.push_back(fmt::format("{} more attributes are no numbers, and taken as not said",
                                unreadable_.size() - kNamed));
  }
}

} // namespace berth::hardware
