#include "berth/node/empty_dir_limits.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"
#include "berth/node/volumes/folder_usage.h"
#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Limits : public test::TempFiles {
 protected:
  void watch(std::int64_t bytes) {
    limits = std::make_shared<EmptyDirLimits>(
        loop, background,
        std::vector<LimitedFolder>{
            {.volume = "scratch", .path = root(), .limit = "1Mi", .bytes = bytes}},
        [this](const std::string& message) { told.push_back(message); });
    limits->watch();
  }
  void pass(Duration time) { loop.run_until(loop.now() + time); }

  VirtualLoop loop{TimePoint::from_unix_seconds(0)};
  Foreground background{loop};
  std::shared_ptr<EmptyDirLimits> limits;
  std::vector<std::string> told;
};

TEST_F(Limits, AVolumeThatGrowsTooLargeIsToldOnce) {
  watch(1 << 20);
  pass(Duration::seconds(25));
  EXPECT_THAT(told, IsEmpty());
  write("big", std::string(2 << 20, 'x'));
  pass(Duration::minutes(1));
  EXPECT_THAT(told,
              ElementsAre("Usage of EmptyDir volume \"scratch\" exceeds the limit \"1Mi\". "));
  EXPECT_EQ(loop.next(), TimePoint::max()) << "nobody looks any more";
}

TEST_F(Limits, WhoIsEndingIsLeftAlone) {
  watch(0);
  limits->stop();
  pass(Duration::minutes(1));
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(Limits, NothingIsToldOnceItIsGone) {
  watch(0);
  limits.reset();
  pass(Duration::minutes(1));
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(Limits, OnlyLimitedFoldersOnTheDiskCount) {
  const auto pod = api::parse_json(R"({"spec":{"volumes":[
    {"name":"a","emptyDir":{"sizeLimit":"1Mi"}},{"name":"b","emptyDir":{}},
    {"name":"c","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}},
    {"name":"d","emptyDir":{"sizeLimit":"0"}},{"name":"e","hostPath":{"path":"/"}}]}})");
  const auto folders = limited_folders(*pod, "u", "/k");
  ASSERT_THAT(folders, SizeIs(1));
  EXPECT_EQ(folders[0].volume, "a");
  EXPECT_EQ(folders[0].path, "/k/pods/u/volumes/kubernetes.io~empty-dir/a");
  EXPECT_EQ(folders[0].bytes, 1 << 20);
}

TEST_F(Limits, UsageCountsAFileOnceAndFollowsNoLink) {
  std::filesystem::create_directories(path("d/e"));
  write("d/e/file", std::string(1 << 20, 'x'));
  const auto alone = folder_usage(path("d"));
  ASSERT_TRUE(alone.has_value());
  EXPECT_GE(*alone, 1 << 20);
  EXPECT_LT(*alone, 2 << 20);
  std::filesystem::create_hard_link(path("d/e/file"), path("d/again"));
  write("elsewhere", std::string(8 << 20, 'x'));
  std::filesystem::create_symlink(path("elsewhere"), path("d/link"));
  EXPECT_LT(*folder_usage(path("d")), 2 << 20);
  EXPECT_FALSE(folder_usage(path("none")).has_value());
}

} // namespace
} // namespace berth::node
