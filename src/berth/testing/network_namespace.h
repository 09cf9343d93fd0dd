// A network namespace of a test's own, in which nothing but what it does happens. Needs rights that
// not everybody has: see made().
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <fmt/format.h>

namespace berth::test {

/// Lives as long as this: its path leads to an open file of this process.
class OwnNetwork {
 public:
  OwnNetwork() {
    std::thread([this] {
      if (::unshare(CLONE_NEWNET) == 0) {
        fd_ = ::open(fmt::format("/proc/self/task/{}/ns/net", ::syscall(SYS_gettid)).c_str(),
                     O_RDONLY | O_CLOEXEC);
      }
    }).join();
  }
  ~OwnNetwork() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

  /// False: this process may not have one.
  bool made() const { return fd_ >= 0; }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_ = -1;
};

} // namespace berth::test
