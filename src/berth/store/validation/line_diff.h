// What differs between two texts, as `diff -u` shows it without its heading.
#pragma once

#include <string>
#include <vector>

namespace berth::store {

/// Hunks with three lines around each change; "" if nothing differs. O(n^2) in the lines; meant for
/// some hundreds.
std::string line_diff(const std::vector<std::string>& before, const std::vector<std::string>& now);

} // namespace berth::store
