// Positions of the values of a JSON text that is known to be valid.
#pragma once

#include <span>
#include <string_view>

#include "berth/api/json_reader.h"
#include "berth/api/yaml.h"

namespace berth::api {

/// `text` holds one valid JSON value; `start` is where it stands in its file. O(text).
/// `dropped`: offsets in `text` of keys whose values do not count, ascending.
PositionMap json_positions(std::string_view text, LineColumn start,
                           std::span<const std::size_t> dropped = {});

} // namespace berth::api
