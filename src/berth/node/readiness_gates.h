// readinessGates: conditions that others write and that a pod must have to be Ready. Pure. Texts:
// kubelet pkg/kubelet/status.
#pragma once

#include <string>
#include <vector>

#include "berth/api/json.h"

namespace berth::node {

/// What each gate that is not open says; `stored` is the pod's status, nullptr for none.
std::vector<std::string> missing_gates(const api::json::value& pod, const api::json::value* stored);

} // namespace berth::node
