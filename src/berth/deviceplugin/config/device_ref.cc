#include "berth/deviceplugin/config/device_ref.h"

#include <algorithm>

namespace berth::deviceplugin {
namespace {

constexpr std::size_t kLongestNumber = 9;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kLongestNumber &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_pair(std::string_view text, char between) {
  const std::size_t at = text.find(between);
  return at != std::string_view::npos && is_number(text.substr(0, at)) &&
         is_number(text.substr(at + 1));
}

// 8-4-4-4-12 hexadecimal digits.
bool is_uuid(std::string_view text) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return text.size() == kShape.size() && std::ranges::equal(text, kShape, [](char c, char shape) {
           return shape == '-'
                      ? c == '-'
                      : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

bool is_prefixed_uuid(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) && is_uuid(text.substr(prefix.size()));
}

} // namespace

bool is_device_ref(std::string_view text) {
  if (is_number(text) || is_pair(text, ':') || is_prefixed_uuid(text, "GPU-") ||
      is_prefixed_uuid(text, "MIG-")) {
    return true;
  }
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_prefixed_uuid(text.substr(0, slash), "MIG-GPU-") &&
         is_pair(text.substr(slash + 1), '/');
}

} // namespace berth::deviceplugin
