// Names a pod template among those that a workload has had.
#pragma once

#include <cstdint>
#include <string>

#include "berth/api/json.h"

namespace berth::controllers {

/// Ten letters and digits that spell no words, as Kubernetes uses (apimachinery rand
/// SafeEncodeString); another for each number of collisions.
std::string template_hash(const api::json::value& pod_template, std::int64_t collisions);

} // namespace berth::controllers
