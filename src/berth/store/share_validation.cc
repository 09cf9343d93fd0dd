#include "berth/store/share_validation.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace berth::store {
namespace {

constexpr std::int64_t kWhole = 100;

} // namespace

void check_share(const api::json::value& share, const std::string& path, FieldErrors& errors) {
  if (share.is_int64()) {
    if (share.get_int64() < 0) {
      errors.push_back(invalid_value(path, fmt::to_string(share.get_int64()),
                                     "must be greater than or equal to 0"));
    }
    return;
  }
  if (!share.is_string()) {
    return; // decoding says why
  }
  const std::string_view text = share.get_string();
  const std::string_view digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
  const bool numeric = !digits.empty() && std::ranges::all_of(digits, [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  if (!numeric || !text.ends_with('%')) {
    errors.push_back(invalid_value(
        path, quote(text),
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  "
        "or '93%', regex used for validation is '[0-9]+%')"));
    return;
  }
  std::int64_t percent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (error != std::errc() || percent > kWhole) {
    errors.push_back(invalid_value(path, quote(text), "must not be greater than 100%"));
  }
}

bool is_zero_share(const api::json::value* share) {
  if (share == nullptr) {
    return true;
  }
  if (share->is_string()) {
    const std::string_view text = share->get_string();
    return text.find_first_not_of("0%") == std::string_view::npos;
  }
  return share->is_int64() && share->get_int64() == 0;
}

} // namespace berth::store
