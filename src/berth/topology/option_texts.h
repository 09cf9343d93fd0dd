// Reading the values of the kubelet's policy options, which are texts.
#pragma once

#include <string_view>

#include "berth/base/result.h"

namespace berth::topology {

/// As Go's strconv.ParseBool: 1, t, T, TRUE, true, True and their opposites. Error Invalid, with
/// the kubelet's text.
Result<bool> parse_flag(std::string_view option, std::string_view text);

} // namespace berth::topology
