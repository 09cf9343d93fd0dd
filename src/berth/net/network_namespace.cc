#include "berth/net/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

#include <fmt/format.h>

namespace berth::net {
namespace {

Code code_of(int number) {
  return number == ENOENT                      ? Code::NotFound
         : number == EPERM || number == EACCES ? Code::Forbidden
                                               : Code::Unavailable;
}

tl::unexpected<Error> namespace_error(std::string_view what, const std::string& path) {
  const int number = errno;
  return fail(code_of(number), fmt::format("cannot {} network namespace {}: {}", what, path,
                                           std::generic_category().message(number)));
}

} // namespace

Result<void> in_network_namespace(const std::string& path,
                                  const std::function<Result<void>()>& work) {
  const int there = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (there < 0) {
    return namespace_error("open", path);
  }
  Result<void> outcome;
  try {
    // A thread that has entered does not come back: it ends there.
    std::thread([&] {
      outcome = ::setns(there, CLONE_NEWNET) == 0 ? work() : namespace_error("enter", path);
    }).join();
  } catch (const std::system_error& error) {
    outcome = fail(Code::Unavailable,
                   fmt::format("no thread to enter network namespace {}: {}", path, error.what()));
  }
  ::close(there);
  return outcome;
}

Result<int> tcp_socket_in(const std::string& path, int family) {
  int made = -1;
  BERTH_CHECK(in_network_namespace(path, [&]() -> Result<void> {
    made = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return made >= 0 ? Result<void>() : namespace_error("make a socket in", path);
  }));
  return made;
}

} // namespace berth::net
