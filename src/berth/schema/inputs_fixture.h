// For this room's tests: the collection of real inputs and recorded conversations, which is not
// part of the repository. Tests that need it skip, and say so, where it is not.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "berth/api/json.h"

namespace berth::test {

inline std::filesystem::path shared_folder() {
  const char* const given = std::getenv("BERTH_SHARED");
  return given != nullptr ? std::filesystem::path(given)
                          : std::filesystem::path(BERTH_SOURCE_DIR) / ".." / "shared";
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

inline boost::json::value read_json_file(const std::filesystem::path& path) {
  auto parsed = api::parse_json(read_text(path), path.string());
  EXPECT_TRUE(parsed) << to_string(parsed.error());
  return parsed ? *std::move(parsed) : boost::json::value();
}

inline std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace berth::test

/// Leaves the test, saying why, unless the folder is there.
#define BERTH_NEED_SHARED(folder)                                                                  \
  if (const auto berth_needed = ::berth::test::shared_folder() / (folder);                         \
      !std::filesystem::exists(berth_needed))                                                      \
  GTEST_SKIP() << "no " << berth_needed << "; set BERTH_SHARED"
