// What kube-apiserver shows of claims and volumes where it says what may not change.
#pragma once

#include <string>

#include "berth/api/json.h"

namespace berth::store {

/// What differs between two claims' specs, as a diff on lines of its own.
std::string claim_difference(const api::json::value& before, const api::json::value& now);
/// The same of where two volumes' specs say that their data lies; "" where that has no known form.
std::string source_difference(const api::json::value& before, const api::json::value& now);

} // namespace berth::store
