// Golden text: a file in the tree is what a program should print. BERTH_UPDATE_GOLDEN=1 rewrites
// the files; look at the difference before committing it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace berth::testing {

/// The whole file, relative to the source tree; "" if it cannot be read.
inline std::string read_source_file(const std::string& path) {
  std::ifstream in(std::string(BERTH_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Fails with the first differing line unless `got` is what the file says.
inline void expect_golden(const std::string& path, const std::string& got) {
  const char* update = std::getenv("BERTH_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(std::string(BERTH_SOURCE_DIR) + "/" + path, std::ios::binary) << got;
    return;
  }
  const std::string want = read_source_file(path);
  ASSERT_FALSE(want.empty()) << "no golden file " << path << "; BERTH_UPDATE_GOLDEN=1 writes it";
  std::size_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < std::min(want.size(), got.size()) && want[i] == got[i]; ++i) {
    if (want[i] == '\n') {
      ++line;
      line_start = i + 1;
    }
  }
  const auto line_of = [&](const std::string& text) {
    return text.substr(std::min(line_start, text.size()), text.find('\n', line_start) - line_start);
  };
  EXPECT_TRUE(got == want) << path << ":" << line << "\n  want: " << line_of(want)
                           << "\n  got:  " << line_of(got) << "\nBERTH_UPDATE_GOLDEN=1 rewrites it";
}

} // namespace berth::testing
