#include "berth/node/checkpoint_store.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

CheckpointStore::Contents text(std::string bytes) {
  return [bytes = std::move(bytes)] { return bytes; };
}

class File : public ::testing::Test {
 protected:
  File() {
    std::string pattern = ::testing::TempDir() + "/checkpoint-" + std::string(6, 'X');
    directory_ = ::mkdtemp(pattern.data());
  }
  ~File() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ / "state"; }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      list.push_back(entry.path().filename());
    }
    return list;
  }

  std::filesystem::path directory_;
};

TEST_F(File, IsNothingBeforeTheFirstWrite) {
  FileCheckpointStore store(path());
  const auto bytes = store.read();
  ASSERT_TRUE(bytes);
  EXPECT_FALSE(*bytes);
}

TEST_F(File, IsWhatWasWrittenLastAndNothingElseIsLeft) {
  std::string large(100'000, 'x');
  large[5] = '\0';
  for (const std::string& bytes : {std::string("one"), large, std::string()}) {
    FileCheckpointStore store(path());
    ASSERT_TRUE(store.write(text(bytes)));
    EXPECT_EQ(FileCheckpointStore(path()).read().value(), bytes);
    EXPECT_THAT(names(), ElementsAre("state"));
  }
}

TEST_F(File, AHalfWrittenTemporaryFileIsInNobodysWay) {
  FileCheckpointStore store(path());
  ASSERT_TRUE(store.write(text("whole")));
  std::ofstream(directory_ / ".state.tmp") << "half of something longer";
  EXPECT_EQ(store.read().value(), "whole");
  ASSERT_TRUE(store.write(text("next")));
  EXPECT_EQ(store.read().value(), "next");
}

TEST_F(File, ATemporaryLinkIsNotFollowed) {
  std::ofstream(directory_ / "precious") << "kept";
  std::filesystem::create_symlink(directory_ / "precious", directory_ / ".state.tmp");
  FileCheckpointStore store(path());
  ASSERT_TRUE(store.write(text("new")));
  std::string kept;
  std::ifstream(directory_ / "precious") >> kept;
  EXPECT_EQ(kept, "kept");
  EXPECT_FALSE(std::filesystem::is_symlink(path()));
  EXPECT_EQ(store.read().value(), "new");
}

TEST_F(File, AFailedWriteSaysWhereAndLeavesWhatThereWas) {
  FileCheckpointStore store((directory_ / "missing" / "state").string());
  const auto written = store.write(text("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::NotFound);
  EXPECT_THAT(written.error().message, StartsWith("cannot write checkpoint: cannot create "));
  std::filesystem::create_directory(path());
  EXPECT_FALSE(FileCheckpointStore(path()).write(text("x")));
  EXPECT_FALSE(FileCheckpointStore(path()).read()) << "a directory";
}

TEST(Memory, KeepsTheLastWriteThatSucceeded) {
  MemoryCheckpointStore disk;
  EXPECT_FALSE(disk.read().value());
  ASSERT_TRUE(disk.write(text("one")));
  disk.set_space(MemoryCheckpointStore::Space::Full);
  const auto full = disk.write(text("two"));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "cannot write checkpoint: no space left on device");
  EXPECT_EQ(disk.read().value(), "one");
  disk.set_space(MemoryCheckpointStore::Space::Free);
  ASSERT_TRUE(disk.write(text("three")));
  EXPECT_EQ(disk.read().value(), "three");
  disk.corrupt("junk");
  EXPECT_EQ(disk.read().value(), "junk");
}

} // namespace
} // namespace berth::node
