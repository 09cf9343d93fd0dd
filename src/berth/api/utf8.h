// Text as UTF-8, and what stands where it is not (Unicode 15, table 3-7).
#pragma once

#include <cstddef>
#include <string_view>

namespace berth::api {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD"; // U+FFFD

/// Length in bytes of the well-formed sequence at the front of `text`, which is not empty; 0 if
/// there is none. O(1).
std::size_t utf8_length(std::string_view text);

} // namespace berth::api
