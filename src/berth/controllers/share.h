// An IntOrString as a number of pods: "25%" of a whole, or a plain count. Source: apimachinery
// util/intstr GetScaledValueFromIntOrPercent.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/api/json.h"

namespace berth::controllers {

enum class Rounding { Up, Down };

/// "25%" or "2" of `whole`, rounded up or down. Text that is neither counts as 0.
std::int64_t share_of(std::string_view text, std::int64_t whole, Rounding rounding);

struct Share {
  std::int64_t whole = 0;
  Rounding rounding = Rounding::Up;
  std::string_view fallback = "0"; ///< what a field that is not there says
};
/// The IntOrString at a dotted path.
std::int64_t share_at(const api::json::value& document, std::string_view path, const Share& of);

} // namespace berth::controllers
