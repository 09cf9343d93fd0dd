#include "berth/controllers/share.h"

#include <algorithm>
#include <charconv>

namespace berth::controllers {

namespace {
constexpr std::int64_t kMostPercent = 1'000'000; // keeps the product in range
} // namespace

std::int64_t share_of(std::string_view text, std::int64_t whole, Rounding rounding) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) {
    return 0;
  }
  if (end == text.data() + text.size()) {
    return number;
  }
  number = std::clamp<std::int64_t>(number, -kMostPercent, kMostPercent);
  const std::int64_t hundredths = number * whole;
  return rounding == Rounding::Up ? (hundredths + 99) / 100 : hundredths / 100;
}

std::int64_t share_at(const api::json::value& document, std::string_view path, const Share& of) {
  const api::json::value* value = api::find_path(document, path);
  if (value == nullptr) {
    return share_of(of.fallback, of.whole, of.rounding);
  }
  return value->is_string() ? share_of(value->get_string(), of.whole, of.rounding)
                            : share_of(api::to_json(*value), of.whole, of.rounding);
}

} // namespace berth::controllers
