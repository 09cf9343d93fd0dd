// How GPU feature discovery spells a string of a machine as a label's value.
#pragma once

#include <string>
#include <string_view>

namespace berth::hardware {

/// Blanks become '-', what a label may not hold is dropped. O(size).
std::string label_value(std::string_view text);

} // namespace berth::hardware
