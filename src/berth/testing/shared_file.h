// Recordings and dumps of real machines that a checkout may have beside it: $BERTH_SHARED, or
// ../shared. Tests that need one skip where it is not there.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace berth::testing {

/// The whole file; "" if it is not at hand.
inline std::string shared_file(const std::string& path) {
  const char* root = std::getenv("BERTH_SHARED");
  std::ifstream in((root != nullptr ? root : std::string(BERTH_SOURCE_DIR) + "/../shared") + "/" +
                       path,
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace berth::testing
