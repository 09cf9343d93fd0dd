// Namespaces of the kernel: without the right to make one these tests are skipped.
#include "berth/net/network_namespace.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/network_namespace.h"

namespace berth::net {
namespace {

using testing::HasSubstr;

ino_t network_of(const std::string& path) {
  struct stat found {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return found.st_ino;
}

TEST(NetworkNamespace, WorkIsDoneThereAndTheCallerStays) {
  const test::OwnNetwork own;
  if (!own.made()) {
    GTEST_SKIP() << "this process may not make a network namespace";
  }
  const ino_t before = network_of("/proc/self/ns/net");
  ino_t during = 0;
  const auto done = in_network_namespace(own.path(), [&]() -> Result<void> {
    during = network_of("/proc/thread-self/ns/net");
    return {};
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(during, network_of(own.path()));
  EXPECT_NE(during, before);
  EXPECT_EQ(network_of("/proc/thread-self/ns/net"), before);
}

TEST(NetworkNamespace, ASocketStaysWhereItWasMade) {
  const test::OwnNetwork own;
  if (!own.made()) {
    GTEST_SKIP() << "this process may not make a network namespace";
  }
  const auto made = tcp_socket_in(own.path(), AF_INET);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(1);
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Its loopback is down, unlike the machine's.
  EXPECT_EQ(::connect(*made, reinterpret_cast<sockaddr*>(&there), sizeof there), -1); // NOLINT
  EXPECT_EQ(errno, ENETUNREACH);
  ::close(*made);
}

TEST(NetworkNamespace, WhatCannotBeIsAnError) {
  const auto work = [] { return Result<void>(); };
  const auto none = in_network_namespace("/nowhere/net", work);
  EXPECT_EQ(none.error().code, Code::NotFound);
  EXPECT_THAT(none.error().message, HasSubstr("cannot open network namespace /nowhere/net"));
  EXPECT_THAT(in_network_namespace("/dev/null", work).error().message,
              HasSubstr("cannot enter network namespace /dev/null"));
  EXPECT_FALSE(tcp_socket_in("/nowhere/net", AF_INET).has_value());
}

} // namespace
} // namespace berth::net
