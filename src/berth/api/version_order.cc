#include "berth/api/version_order.h"

#include <charconv>
#include <optional>
#include <tuple>

namespace berth::api {
namespace {

struct Version {
  int maturity = 2; ///< alpha 0, beta 1
  int major = 0;
  int minor = 0;
};

/// The number at the beginning, taken off.
std::optional<int> number(std::string_view& text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out < 0) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return out;
}

/// "v1", "v2beta3"
std::optional<Version> parsed(std::string_view text) {
  if (!text.starts_with('v')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const auto major = number(text);
  if (!major) {
    return std::nullopt;
  }
  Version out{.major = *major};
  if (text.empty()) {
    return out;
  }
  constexpr std::string_view kAlpha = "alpha";
  constexpr std::string_view kBeta = "beta";
  const bool alpha = text.starts_with(kAlpha);
  if (!alpha && !text.starts_with(kBeta)) {
    return std::nullopt;
  }
  out.maturity = alpha ? 0 : 1;
  text.remove_prefix(alpha ? kAlpha.size() : kBeta.size());
  const auto minor = number(text);
  if (!minor || !text.empty()) {
    return std::nullopt;
  }
  out.minor = *minor;
  return out;
}

} // namespace

bool is_newer(std::string_view version, std::string_view other) {
  const auto one = parsed(version);
  const auto two = parsed(other);
  if (!one && !two) {
    return version < other;
  }
  if (!one || !two) {
    return one.has_value();
  }
  return std::tie(one->maturity, one->major, one->minor) >
         std::tie(two->maturity, two->major, two->minor);
}

} // namespace berth::api
