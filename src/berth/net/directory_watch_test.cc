#include "berth/net/directory_watch.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::net {
namespace {

namespace fs = std::filesystem;
using enum DirectoryChange::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DirectoryChange change(DirectoryChange::Kind kind, std::string name = "") {
  return {.kind = kind, .name = std::move(name)};
}

class Watch : public test::TempFiles {
 protected:
  void watch(const std::string& directory) {
    auto opened = DirectoryWatch::open(loop_, directory, [this](const DirectoryChange& seen) {
      seen_.push_back(seen);
      if (seen.name == "last" || seen.kind == Ended) {
        loop_.stop();
      }
    });
    ASSERT_TRUE(opened) << to_string(opened.error());
    watch_ = *std::move(opened);
  }
  // What has been done so far has then been told.
  void run_to_last() {
    write("last", "");
    loop_.run();
    seen_.pop_back();
    fs::remove(path("last"));
  }

  AsioLoop loop_;
  std::vector<DirectoryChange> seen_;
  std::unique_ptr<DirectoryWatch> watch_;
};

TEST_F(Watch, TellsOfNamesThatAppearAndGoInOrder) {
  write("before", "");
  fs::create_directory(path("elsewhere"));
  watch(root());
  write("a", "1");
  write("a", "2"); // of what is in files, nothing
  fs::rename(path("before"), path("b"));
  fs::rename(path("b"), path("elsewhere/b"));
  fs::create_directory(path("c"));
  write("c/deep", "");
  fs::remove(path("a"));
  run_to_last();
  EXPECT_THAT(seen_,
              ElementsAre(change(Appeared, "a"), change(Gone, "before"), change(Appeared, "b"),
                          change(Gone, "b"), change(Appeared, "c"), change(Gone, "a")));
}

TEST_F(Watch, TellsOnceThatTheDirectoryIsGone) {
  fs::create_directory(path("d"));
  watch(path("d"));
  fs::remove(path("d"));
  loop_.run();
  EXPECT_THAT(seen_, ElementsAre(change(Ended)));
}

TEST_F(Watch, TellsNothingOnceItIsDestroyed) {
  watch(root());
  write("a", "");
  watch_.reset();
  loop_.post([this] { loop_.post([this] { loop_.stop(); }); });
  loop_.run();
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(Watch, MayBeDestroyedByWhatItTells) {
  auto opened = DirectoryWatch::open(loop_, root(), [this](const DirectoryChange& told) {
    seen_.push_back(told);
    watch_.reset();
    loop_.stop();
  });
  ASSERT_TRUE(opened);
  watch_ = *std::move(opened);
  write("a", "");
  write("b", "");
  loop_.run();
  loop_.post([this] { loop_.stop(); });
  loop_.run();
  EXPECT_THAT(seen_, ElementsAre(change(Appeared, "a")));
}

TEST_F(Watch, WhatIsNoDirectoryCannotBeWatched) {
  const auto at = [&](const std::string& directory) {
    const auto opened = DirectoryWatch::open(loop_, directory, [](const DirectoryChange&) {});
    return opened ? Error() : opened.error();
  };
  EXPECT_EQ(at(path("missing")).code, Code::NotFound);
  EXPECT_THAT(at(path("missing")).message, HasSubstr("missing: cannot be watched"));
  EXPECT_EQ(at(write("file", "")).code, Code::NotFound);
}

} // namespace
} // namespace berth::net
