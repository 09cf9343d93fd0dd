// Positions of the values of a JSON text that is known to be valid.
#pragma once

#include <string_view>

#include "berth/api/json_reader.h"
#include "berth/api/yaml.h"

namespace berth::api {

/// `text` holds one valid JSON value; `start` is where it stands in its file. O(text).
PositionMap json_positions(std::string_view text, LineColumn start);

} // namespace berth::api
