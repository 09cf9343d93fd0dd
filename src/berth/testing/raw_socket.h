// A peer that speaks no gRPC: listens on a unix socket and is silent, talks nonsense or hangs up.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace berth::test {

/// Connections are taken by the system; what is done with them is done by answer().
class RawSocket {
 public:
  explicit RawSocket(const std::string& path) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
  }
  ~RawSocket() {
    for (const int connection : connections_) {
      ::close(connection);
    }
    ::close(listener_);
  }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  /// Takes who has come meanwhile and says this to each; true if there was anybody.
  bool answer(const std::string& bytes) {
    bool any = false;
    for (int connection = accept(); connection >= 0; connection = accept()) {
      EXPECT_GE(::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL), -1);
      connections_.push_back(connection);
      any = true;
    }
    return any;
  }
  void hang_up() {
    for (const int connection : std::exchange(connections_, {})) {
      ::close(connection);
    }
  }

 private:
  int accept() const { return ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }

  int listener_;
  std::vector<int> connections_;
};

/// Leaves a socket's file at the path that nobody listens on, as a process that was killed does.
inline void leave_dead_socket(const std::string& path) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(descriptor);
}

} // namespace berth::test
