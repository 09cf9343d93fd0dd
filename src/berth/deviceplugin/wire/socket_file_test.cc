#include "berth/deviceplugin/wire/socket_file.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/raw_socket.h"
#include "berth/testing/temp_files.h"

namespace berth::deviceplugin {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SocketFile : public test::TempFiles {};

TEST_F(SocketFile, EachLifeOfASocketIsAnother) {
  EXPECT_FALSE(socket_at(path("s")));
  test::leave_dead_socket(path("s"));
  const auto first = socket_at(path("s"));
  ASSERT_TRUE(first);
  fs::permissions(path("s"), fs::perms::owner_read);
  EXPECT_EQ(socket_at(path("s")), first);
  fs::rename(path("s"), path("before"));
  test::leave_dead_socket(path("s"));
  ASSERT_TRUE(socket_at(path("s")));
  EXPECT_NE(socket_at(path("s")), first);
}

TEST_F(SocketFile, FilesDirectoriesAndLinksAreNoSockets) {
  test::leave_dead_socket(path("s"));
  write("file", "x");
  fs::create_directory(path("folder"));
  fs::create_symlink(path("s"), path("link"));
  for (const char* name : {"file", "folder", "link"}) {
    EXPECT_FALSE(socket_at(path(name))) << name;
  }
}

TEST_F(SocketFile, NamesThatLeaveTheDirectoryAreRefused) {
  EXPECT_EQ(endpoint_path("/d", "a.sock").value(), "/d/a.sock");
  EXPECT_EQ(endpoint_path("/d", ".hidden").value(), "/d/.hidden");
  using namespace std::string_literals;
  for (const std::string& name : {"../a.sock"s, "/run/a.sock"s, "a/b"s, "."s, ".."s, "a\0b"s}) {
    const auto refused = endpoint_path("/d", name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Code::Invalid);
    EXPECT_THAT(refused.error().message, HasSubstr("leaves the directory")) << name;
  }
  EXPECT_THAT(endpoint_path("/d", "").error().message, HasSubstr("no name of a socket"));
  EXPECT_THAT(endpoint_path("/d", "kubelet.sock").error().message, HasSubstr("the kubelet's own"));
  EXPECT_THAT(endpoint_path("/d", std::string(105, 'x')).error().message, HasSubstr("too long"));
}

TEST_F(SocketFile, ALinkOutOfTheDirectoryIsRefused) {
  fs::create_directory(path("in"));
  test::leave_dead_socket(path("outside"));
  fs::create_symlink(path("outside"), path("in/link"));
  EXPECT_EQ(endpoint_path(path("in"), "link").error().message, "endpoint \"link\" is no socket");
}

TEST_F(SocketFile, TheSweepTakesSocketsAlone) {
  test::leave_dead_socket(path("a.sock"));
  test::leave_dead_socket(path("b"));
  write("kubelet_internal_checkpoint", "{}");
  fs::create_directory(path("folder"));
  test::leave_dead_socket(path("folder/c.sock"));
  ASSERT_TRUE(sweep_sockets(root()));
  EXPECT_FALSE(fs::exists(path("a.sock")));
  EXPECT_FALSE(fs::exists(path("b")));
  EXPECT_TRUE(fs::exists(path("kubelet_internal_checkpoint")));
  EXPECT_TRUE(socket_at(path("folder/c.sock")));
  EXPECT_THAT(sweep_sockets(path("missing")).error().message, HasSubstr("cannot be read"));
}

TEST_F(SocketFile, ADirectoryThatIsMadeIsForItsOwnerAndGroup) {
  ASSERT_TRUE(make_directory(path("a/b")));
  EXPECT_EQ(fs::status(path("a/b")).permissions(), static_cast<fs::perms>(0750));
  EXPECT_TRUE(make_directory(path("a/b")));
  write("file", "");
  EXPECT_THAT(make_directory(path("file/b")).error().message, HasSubstr("cannot be made"));
}

} // namespace
} // namespace berth::deviceplugin
