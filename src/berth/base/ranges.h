// Sets of small numbers as people write them: "0-3,6".
#pragma once

#include <span>
#include <string>

namespace berth {

/// "0-3,6" from {0,1,2,3,6}; "" from none. The numbers must ascend. O(n).
std::string format_ranges(std::span<const int> numbers);

} // namespace berth
