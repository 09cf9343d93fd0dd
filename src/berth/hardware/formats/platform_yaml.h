// A platform as the text of a platform file: what Catalogue::parse_platform reads.
#pragma once

#include <string>

#include "berth/hardware/platform.h"

namespace berth::hardware {

/// Reading it gives an equal platform, whatever its texts hold. Fields in the order of platforms/.
std::string platform_yaml(const Platform& platform);

} // namespace berth::hardware
