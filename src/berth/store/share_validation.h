// An IntOrString that is a count of pods or a percentage of them. Source:
// kubernetes/pkg/apis/apps/validation (ValidatePositiveIntOrPercent, IsNotMoreThan100Percent).
#pragma once

#include <string>

#include "berth/api/json.h"
#include "berth/store/errors.h"

namespace berth::store {

/// Negative counts, texts that are no percentage, percentages over 100.
void check_share(const api::json::value& share, const std::string& path, FieldErrors& errors);
/// 0 or "0%".
bool is_zero_share(const api::json::value* share);

} // namespace berth::store
