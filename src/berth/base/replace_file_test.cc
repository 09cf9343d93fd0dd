#include "berth/base/replace_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ReplaceFile : public test::TempFiles {
 protected:
  static std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(root())) {
      found.push_back(entry.path().filename());
    }
    return found;
  }
};

TEST_F(ReplaceFile, MakesOneOrTakesTheOldOnesPlace) {
  ASSERT_TRUE(replace_file(path("a"), "first and longer", 0644).has_value());
  EXPECT_EQ(text_of(path("a")), "first and longer");
  ASSERT_TRUE(replace_file(path("a"), "second", 0755).has_value());
  EXPECT_EQ(text_of(path("a")), "second");
  EXPECT_EQ(static_cast<unsigned>(fs::status(path("a")).permissions()), 0755u);
  EXPECT_THAT(names(), ElementsAre("a")) << "nothing is left beside it";
}

TEST_F(ReplaceFile, WhoDiedBeforeIsNoHindrance) {
  write(".a.tmp", "half of");
  ASSERT_TRUE(replace_file(path("a"), "whole", 0600).has_value());
  EXPECT_EQ(text_of(path("a")), "whole");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(ReplaceFile, AnErrorNamesThePathAndLeavesTheOldOne) {
  const auto none = replace_file(path("no/a"), "x", 0600);
  EXPECT_EQ(none.error().code, Code::NotFound);
  EXPECT_THAT(none.error().message, HasSubstr("cannot create " + path("no/.a.tmp")));
  fs::create_directory(path("folder"));
  EXPECT_THAT(replace_file(path("folder"), "x", 0600).error().message,
              HasSubstr("cannot replace " + path("folder")));
  EXPECT_THAT(names(), ElementsAre("folder"));
}

} // namespace
} // namespace berth
