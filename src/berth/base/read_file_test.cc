#include "berth/base/read_file.h"

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth {
namespace {

class ReadFile : public test::TempFiles {
 protected:
  static std::string error_of(const std::string& path, std::size_t most = 100) {
    const auto text = read_file(path, most);
    return text ? "none" : to_string(text.error());
  }
};

TEST_F(ReadFile, TakesEveryByteOfAFile) {
  const std::string bytes("a\0b\n", 4);
  EXPECT_EQ(read_file(write("a", bytes), 4), bytes);
  EXPECT_EQ(read_file(write("empty", ""), 0), "");
}

TEST_F(ReadFile, TakesWhatAPipeGives) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe")) << "through"; });
  EXPECT_EQ(read_file(path("pipe"), 100), "through");
  writer.join();
}

TEST_F(ReadFile, SaysWhyItCannotBeRead) {
  EXPECT_EQ(error_of(path("none")), path("none") + ": no such file or directory");
  EXPECT_EQ(read_file(path("none"), 1).error().code, Code::NotFound);
  EXPECT_EQ(error_of(path("")), path("") + ": is a directory");
  EXPECT_EQ(error_of(write("file", "") + "/below"), path("file/below") + ": not a directory");
}

TEST_F(ReadFile, StopsAtTheLimit) {
  EXPECT_EQ(error_of(write("long", "12345"), 4), path("long") + ": larger than 4 bytes");
  EXPECT_EQ(error_of("/dev/zero", std::size_t{1} << 20U), "/dev/zero: larger than 1 MiB");
}

} // namespace
} // namespace berth
