#include "berth/node/volumes/atomic_writer.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "berth/node/volumes/files.h"
#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AtomicWriter : public test::TempFiles {
 protected:
  Result<Written> put(Payload files, std::int64_t second = 0) {
    return write_atomically({.folder = path("volume"),
                             .files = std::move(files),
                             .now = TimePoint::from_unix_seconds(1'700'000'000 + second)});
  }
  std::string read(const std::string& name) const {
    return node::read_file(fs::canonical(path("volume/" + name)).string(), 1 << 20)
        .value_or("absent");
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(path("volume"))) {
      all.insert(entry.path().filename().string());
    }
    return all;
  }
  unsigned mode(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::stat(path("volume/" + name).c_str(), &found), 0) << name;
    return found.st_mode & 07777;
  }
};

TEST_F(AtomicWriter, ShowsFilesThroughOneLink) {
  ASSERT_EQ(put({{"a", "1", 0644}, {"dir/b", "2", 0400}}), Written::Changed);
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(read("dir/b"), "2");
  EXPECT_EQ(mode("a"), 0644u);
  EXPECT_EQ(mode("dir/b"), 0400u);
  EXPECT_EQ(fs::read_symlink(path("volume/a")), "..data/a");
  EXPECT_EQ(fs::read_symlink(path("volume/dir")), "..data/dir");
  const std::string data = fs::read_symlink(path("volume/..data")).string();
  EXPECT_THAT(names(), ElementsAre(data, "..data", "a", "dir"));
  EXPECT_THAT(data, ::testing::StartsWith("..2023_11_14_22_13_20."));
}

TEST_F(AtomicWriter, AnUpdateTurnsTheLinkAndLeavesNothingBehind) {
  ASSERT_TRUE(put({{"a", "1"}, {"old/x", "2"}}));
  const auto before = fs::read_symlink(path("volume/..data"));
  ASSERT_EQ(put({{"a", "3"}, {"new", "4"}}, 60), Written::Changed);
  EXPECT_EQ(read("a"), "3");
  EXPECT_EQ(read("new"), "4");
  EXPECT_NE(fs::read_symlink(path("volume/..data")), before);
  EXPECT_EQ(names().size(), 4u) << "data folder, ..data, a, new";
}

TEST_F(AtomicWriter, AReaderThatHoldsTheOldFolderKeepsIt) {
  ASSERT_TRUE(put({{"a", "1"}}));
  std::ifstream open(path("volume/a"));
  ASSERT_TRUE(put({{"a", "2"}}, 60));
  std::string text;
  open >> text;
  EXPECT_EQ(text, "1");
}

TEST_F(AtomicWriter, WritesNothingIfNothingChanged) {
  ASSERT_TRUE(put({{"a", "1"}}));
  const auto before = fs::read_symlink(path("volume/..data"));
  EXPECT_EQ(put({{"a", "1"}}, 60), Written::Unchanged);
  EXPECT_EQ(fs::read_symlink(path("volume/..data")), before);
  EXPECT_EQ(put({{"a", "1", 0600}}, 120), Written::Changed) << "a mode counts too";
}

TEST_F(AtomicWriter, GoesOnAfterAWriterThatDied) {
  fs::create_directories(path("volume/..2020_01_01_00_00_00.1"));
  fs::create_symlink("..2020_01_01_00_00_00.1", path("volume/..data_tmp"));
  ASSERT_EQ(put({{"a", "1"}}), Written::Changed);
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(names().size(), 3u);
}

TEST_F(AtomicWriter, TwoWritesAtOneInstantHaveTwoFolders) {
  ASSERT_TRUE(put({{"a", "1"}}));
  ASSERT_TRUE(put({{"a", "2"}}));
  EXPECT_EQ(read("a"), "2");
}

TEST_F(AtomicWriter, RefusesPathsThatLeaveTheVolume) {
  for (const char* bad : {"", "/etc/passwd", "../x", "a/../../x", "..data", "a//b", "a/./b"}) {
    EXPECT_FALSE(put({{bad, "x"}})) << bad;
  }
  EXPECT_FALSE(fs::exists(path("x")));
  EXPECT_TRUE(put({{"a..b/..c", "x"}}));
}

TEST_F(AtomicWriter, AnEmptyVolumeIsAFolder) {
  ASSERT_TRUE(put({}));
  EXPECT_THAT(names(), ElementsAre(::testing::StartsWith("..2023"), "..data"));
}

TEST_F(AtomicWriter, AFileInTheWayIsAnErrorThatNamesIt) {
  write("volume", "not a folder");
  const auto made = put({{"a", "1"}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("mkdir " + path("volume") + ": not a directory"));
}

TEST_F(AtomicWriter, AFileMayHaveAnOwner) {
  const auto me = static_cast<std::int64_t>(::getuid());
  ASSERT_TRUE(put({{"a", "1", 0600, me}}));
  if (me == 0) {
    ASSERT_TRUE(put({{"a", "2", 0600, 1234}}));
    struct stat found {};
    ASSERT_EQ(::stat(path("volume/a").c_str(), &found), 0);
    EXPECT_EQ(found.st_uid, 1234u);
  }
}

TEST_F(AtomicWriter, AGroupMayReadAndEnters) {
  const auto made = write_atomically({.folder = path("volume"),
                                      .files = {{"d/a", "1", 0600}},
                                      .group = static_cast<std::int64_t>(::getgid())});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(mode("d/a"), 0640u);
  EXPECT_EQ(mode("d") & 02550u, 02550u);
}

} // namespace
} // namespace berth::node
