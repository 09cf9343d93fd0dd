// What the API server accepts with a warning. Source: kubernetes/pkg/api/pod/warnings.go and the
// strategies' WarningsOnCreate.
#pragma once

#include <string>
#include <vector>

#include "berth/store/request.h"

namespace berth::store {

/// Of a pod, of a workload for its template, of a service, a volume or a claim; in the order in
/// which they are said. `before`: the version that a write replaces; null if it is new.
std::vector<std::string> warnings_of(const api::Object& object, const api::Object* before);

} // namespace berth::store
