#include "berth/net/file_watch.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::net {
namespace {

class FileWatches : public test::TempFiles {
 protected:
  void until(int count) {
    while (changes < count) {
      loop.run_for(Duration::millis(2));
    }
  }
  AsioLoop loop;
  int changes = 0;
};

TEST_F(FileWatches, TellOfWritesAndOfTheEnd) {
  const std::string file = write("log", "a");
  auto watch = watch_file(loop, file, [this] { ++changes; });
  ASSERT_TRUE(watch.has_value());
  std::ofstream(file, std::ios::app) << "b";
  until(1);
  const int before = changes;
  std::filesystem::remove(file);
  until(before + 1);
}

TEST_F(FileWatches, EndWhenDroppedEvenInTheirOwnCall) {
  const std::string file = write("log", "a");
  std::unique_ptr<FileWatch> watch;
  watch = *watch_file(loop, file, [&] {
    ++changes;
    watch = nullptr;
  });
  std::ofstream(file, std::ios::app) << "b";
  until(1);
  std::ofstream(file, std::ios::app) << "c";
  bool later = false;
  loop.after(Duration::millis(5), [&] { later = true; });
  while (!later) {
    loop.run_for(Duration::millis(2));
  }
  EXPECT_EQ(changes, 1);
}

TEST_F(FileWatches, NeedAFile) {
  const auto watch = watch_file(loop, path("none"), [] {});
  ASSERT_FALSE(watch.has_value());
  EXPECT_EQ(watch.error().code, Code::Unavailable);
  EXPECT_THAT(to_string(watch.error()),
              testing::HasSubstr("none: cannot be watched: No such file"));
}

} // namespace
} // namespace berth::net
