// The conditions of a machine that is well, as a kubelet posts them.
#pragma once

#include <string_view>

#include "berth/api/json.h"

namespace berth::hardware {

/// MemoryPressure, DiskPressure, PIDPressure, Ready; times are left to whoever writes them.
api::json::array healthy_conditions();

/// What nodes say their kubelet is.
inline constexpr std::string_view kKubeletVersion = "v1.36.0";

} // namespace berth::hardware
