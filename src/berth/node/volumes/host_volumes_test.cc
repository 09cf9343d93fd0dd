// Volumes that act on the machine: hostPath, emptyDir, sub-paths, what is mounted.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "berth/node/volumes/empty_dir.h"
#include "berth/node/volumes/files.h"
#include "berth/node/volumes/host_path.h"
#include "berth/node/volumes/mounts.h"
#include "berth/node/volumes/sub_path.h"
#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string said(const Result<void>& result) {
  return result ? "fine" : result.error().message;
}

class HostPathVolume : public test::TempFiles {};

TEST_F(HostPathVolume, TypesAreChecked) {
  fs::create_directory(path("dir"));
  write("file", "");
  EXPECT_EQ(said(check_host_path(path("none"), "")), "fine");
  EXPECT_EQ(said(check_host_path(path("dir"), "Directory")), "fine");
  EXPECT_EQ(said(check_host_path(path("file"), "File")), "fine");
  EXPECT_EQ(said(check_host_path("/dev/null", "CharDevice")), "fine");
  const auto refused = [&](const char* name, const char* called) {
    return "hostPath type check failed: " + path(name) + " is not a " + called;
  };
  EXPECT_EQ(said(check_host_path(path("none"), "Directory")), refused("none", "directory"));
  EXPECT_EQ(said(check_host_path(path("file"), "Directory")), refused("file", "directory"));
  EXPECT_EQ(said(check_host_path(path("dir"), "File")), refused("dir", "file"));
  EXPECT_EQ(said(check_host_path(path("file"), "Socket")), refused("file", "socket file"));
  EXPECT_EQ(said(check_host_path(path("file"), "CharDevice")), refused("file", "character device"));
  EXPECT_EQ(said(check_host_path(path("file"), "BlockDevice")), refused("file", "block device"));
  EXPECT_EQ(said(check_host_path(path("file"), "DirectoryOrCreate")), refused("file", "directory"));
  EXPECT_EQ(said(check_host_path(path("dir"), "Pipe")), "Pipe is an invalid volume type");
}

TEST_F(HostPathVolume, AreMadeIfAsked) {
  EXPECT_EQ(said(check_host_path(path("a/b"), "DirectoryOrCreate")), "fine");
  EXPECT_TRUE(fs::is_directory(path("a/b")));
  EXPECT_EQ(said(check_host_path(path("a/f"), "FileOrCreate")), "fine");
  EXPECT_TRUE(fs::is_regular_file(path("a/f")));
  EXPECT_THAT(said(check_host_path(path("no/f"), "FileOrCreate")),
              HasSubstr("no such file or directory"));
}

TEST_F(HostPathVolume, MustBeAbsoluteWithoutBacksteps) {
  for (const char* bad : {"", "relative", "/a/../b", "/a/.."}) {
    EXPECT_THAT(said(check_host_path(bad, "")), HasSubstr("must be absolute")) << bad;
  }
  EXPECT_EQ(said(check_host_path("/a/..b", "")), "fine");
}

class EmptyDirVolume : public test::TempFiles {};

TEST_F(EmptyDirVolume, IsOpenToAllAndStaysWithWhatIsInIt) {
  ASSERT_TRUE(set_up_empty_dir(path("v/e"), {}));
  struct stat found {};
  ASSERT_EQ(::stat(path("v/e").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777u, 0777u);
  write("v/e/file", "kept");
  ASSERT_TRUE(set_up_empty_dir(path("v/e"), {}));
  EXPECT_TRUE(fs::exists(path("v/e/file")));
}

TEST_F(EmptyDirVolume, BelongsToTheGroup) {
  ASSERT_TRUE(set_up_empty_dir(path("e"), {.group = static_cast<std::int64_t>(::getgid())}));
  struct stat found {};
  ASSERT_EQ(::stat(path("e").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 02000u, 02000u);
}

TEST_F(EmptyDirVolume, InMemoryIsMountedOrSaysThatItIsNot) {
  const auto made = set_up_empty_dir(
      path("m"), {.medium = EmptyDir::Medium::Memory, .size_bytes = std::int64_t{1} << 20});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(is_mount_point(path("m")), !made->warning.empty());
  // A second time is no second mount.
  ASSERT_TRUE(set_up_empty_dir(path("m"), {.medium = EmptyDir::Medium::Memory}));
  ASSERT_TRUE(unmount_below(path("m")));
  EXPECT_FALSE(is_mount_point(path("m")));
}

TEST_F(EmptyDirVolume, HugePagesAreMountedOrAnError) {
  const EmptyDir wanted{.medium = EmptyDir::Medium::HugePages, .page_size = "2Mi"};
  const auto made = set_up_empty_dir(path("h"), wanted);
  EXPECT_EQ(made.has_value(), is_mount_point(path("h"))) << "there is no other place for them";
  if (made) {
    ASSERT_TRUE(set_up_empty_dir(path("h"), wanted)) << "a second time is no second mount";
    ASSERT_TRUE(unmount_below(path("h")));
  }
  EXPECT_FALSE(
      set_up_empty_dir(path("i"), {.medium = EmptyDir::Medium::HugePages, .page_size = "3Mi"}));
}

TEST_F(EmptyDirVolume, AnUnwritableFolderIsAnErrorThatNamesIt) {
  write("file", "");
  const auto made = set_up_empty_dir(path("file/below"), {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("mkdir " + path("file") + ": not a directory"));
}

TEST(EmptyDirSource, IsReadOrRefused) {
  const auto read = [](std::string_view text) {
    return read_empty_dir(api::parse_json(text).value(), std::nullopt);
  };
  EXPECT_EQ(read(R"({"medium": "Memory", "sizeLimit": "1Mi"})")->size_bytes, 1 << 20);
  EXPECT_EQ(read("{}")->medium, EmptyDir::Medium::Disk);
  EXPECT_EQ(read(R"({"medium": "HugePages"})")->medium, EmptyDir::Medium::HugePages);
  EXPECT_EQ(read(R"({"medium": "HugePages"})")->page_size, "");
  EXPECT_EQ(read(R"({"medium": "HugePages-2Mi"})")->page_size, "2Mi");
  EXPECT_FALSE(read(R"({"medium": "HugePagesX"})"));
  EXPECT_FALSE(read(R"({"medium": "Tape"})"));
  EXPECT_FALSE(read(R"({"sizeLimit": "lots"})"));
}

class SubPathVolume : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    fs::create_directories(path("volume"));
    fs::create_directories(path("outside"));
    write("outside/secret", "no");
  }
  void TearDown() override {
    EXPECT_TRUE(unmount_below(root()));
    TempFiles::TearDown();
  }
  Result<std::string> set_up(const std::string& sub_path) {
    return set_up_sub_path(
        {.volume = path("volume"), .sub_path = sub_path, .target = path("target")});
  }
};

TEST_F(SubPathVolume, ShowsAPartThatIsMadeIfItIsNotThere) {
  const auto shown = set_up("a/b");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_TRUE(fs::is_directory(path("volume/a/b")));
  EXPECT_EQ(fs::status(path("volume/a/b")).permissions(), fs::status(path("volume")).permissions());
  write("volume/a/b/file", "x");
  EXPECT_TRUE(fs::exists(*shown + "/file"));
}

TEST_F(SubPathVolume, ShowsAFile) {
  write("volume/one", "content");
  const auto shown = set_up("one");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(read_file(*shown, 100).value(), "content");
}

TEST_F(SubPathVolume, FollowsLinksInsideTheVolume) {
  fs::create_directories(path("volume/real"));
  fs::create_symlink("real", path("volume/link"));
  const auto shown = set_up("link/deeper");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_TRUE(fs::is_directory(path("volume/real/deeper")));
}

TEST_F(SubPathVolume, NeverLeavesTheVolume) {
  fs::create_symlink(path("outside"), path("volume/absolute"));
  fs::create_symlink("../outside", path("volume/relative"));
  fs::create_symlink("/proc/self/root", path("volume/magic"));
  for (const char* bad : {"absolute", "absolute/secret", "relative", "relative/new", "magic/etc",
                          "..", "a/../../outside", "/outside"}) {
    const auto shown = set_up(bad);
    ASSERT_FALSE(shown) << bad << " shows " << *shown;
    EXPECT_THAT(shown.error().message, HasSubstr("subPath leads out of its volume")) << bad;
  }
  EXPECT_FALSE(fs::exists(path("outside/new")));
}

TEST_F(SubPathVolume, ANewAttemptSeesWhatIsThereNow) {
  ASSERT_TRUE(set_up("a"));
  const auto again = set_up("b");
  ASSERT_TRUE(again) << again.error().message;
  write("volume/b/here", "");
  EXPECT_TRUE(fs::exists(*again + "/here"));
}

TEST(MountPoints, AreReadDeepestFirst) {
  EXPECT_THAT(mount_points_below("22 1 0:1 / / rw - x x rw\n"
                                 "23 22 0:2 / /k/pods/u/volumes/a rw - tmpfs tmpfs rw\n"
                                 "24 23 0:2 / /k/pods/u/volumes/a/deep\\040er rw - tmpfs t rw\n"
                                 "25 22 0:2 / /k/pods/u2/x rw - tmpfs tmpfs rw\n"
                                 "26 22 0:2 / /k/pods/u rw - tmpfs tmpfs rw\n"
                                 "nonsense\n",
                                 "/k/pods/u"),
              ElementsAre("/k/pods/u/volumes/a/deep er", "/k/pods/u/volumes/a", "/k/pods/u"));
}

TEST(MountPoints, NothingIsBelowNothing) {
  EXPECT_TRUE(mount_points_below("22 1 0:1 / / rw - x x rw\n", "").empty());
}

} // namespace
} // namespace berth::node
