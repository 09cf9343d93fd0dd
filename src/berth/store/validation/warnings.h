// What the API server accepts with a warning. Source: kubernetes/pkg/api/pod/warnings.go and the
// strategies' WarningsOnCreate.
#pragma once

#include <string>
#include <vector>

#include "berth/store/request.h"

namespace berth::store {

/// Of a pod, or of a workload for its template; in the order in which they are said.
std::vector<std::string> warnings_of(const api::Object& object);

} // namespace berth::store
