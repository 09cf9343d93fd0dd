// A fixture with a folder of its own, empty at the start of each test and gone at its end.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace berth::test {

class TempFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string("berth-") + info->test_suite_name() + "-" + info->name();
    std::replace(name.begin(), name.end(), '/', '-'); // parameterised tests have slashes
    root_ = std::filesystem::path(::testing::TempDir()) / name;
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// Writes the file and returns its path.
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(root_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

} // namespace berth::test
