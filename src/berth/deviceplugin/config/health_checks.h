// The lists of Xids in DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/deviceplugin/config/config.h"

namespace berth::deviceplugin {

/// Each is "all", "xids", or Xids between commas; case does not matter. What is no number is left
/// out with a remark. An Xid that is on both lists is enabled.
HealthChecks read_health_checks(std::string_view disable, std::string_view enable,
                                std::vector<std::string>& remarks);

} // namespace berth::deviceplugin
