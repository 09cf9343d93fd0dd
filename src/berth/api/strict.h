// Configuration is read strictly: a field that nobody reads is a mistake, and a value that is not
// allowed is refused in Kubernetes' words (field.Invalid, field.NotSupported, field.Required).
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "berth/api/field.h"

namespace berth::api {

/// Records an error at the first member that is none of `known`, with the nearest of them where one
/// is near.
void refuse_unknown(const Field& in, std::span<const std::string_view> known);
inline void refuse_unknown(const Field& in, std::initializer_list<std::string_view> known) {
  refuse_unknown(in, std::span(known.begin(), known.size()));
}

/// "Invalid value: 101: not in valid range [0-100]".
void refuse_value(const Field& in, std::string_view why);
/// metav1.Duration: "10s", "1h30m". Negative ones are refused.
void decode_duration(const Field& in, Duration& out);
/// Unless the number is in [least, most]: "Invalid value: 101: not in valid range [0, 100]".
void check_range(const Field& in, std::int64_t value, std::int64_t least, std::int64_t most);
/// Unless the text is one of those: "Unsupported value: "x": supported values: "A", "B"".
void check_choice(const Field& in, std::string_view value,
                  std::initializer_list<std::string_view> supported);
/// "Required value: can not be empty", at the member, which may be absent.
void require(const Field& in, std::string_view member, std::string_view why = "");

/// "; did you mean "x"?" for the nearest of the candidates, or "".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

} // namespace berth::api
