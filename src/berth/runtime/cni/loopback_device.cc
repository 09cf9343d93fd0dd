#include "berth/runtime/cni/loopback_device.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "berth/net/network_namespace.h"

namespace berth::runtime::cni {
namespace {

tl::unexpected<Error> device_error(std::string_view what, const std::string& netns) {
  const int number = errno;
  return fail(
      number == EPERM ? Code::Forbidden : Code::Unavailable,
      fmt::format("cannot {} lo of {}: {}", what, netns, std::generic_category().message(number)));
}

/// Reads the flags of the calling thread's loopback device, and writes what `change` makes of them.
Result<void> with_flags(const std::string& netns, const std::function<short(short)>& change) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return device_error("open a socket for", netns);
  }
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  Result<void> outcome;
  if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0) {
    outcome = device_error("read the flags of", netns);
  } else if (const short wanted = change(request.ifr_flags); wanted != request.ifr_flags) {
    request.ifr_flags = wanted;
    if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0) {
      outcome = device_error("bring up", netns);
    }
  }
  ::close(socket);
  return outcome;
}

Result<void> bring_up(const std::string& netns) {
  return net::in_network_namespace(netns, [&] {
    return with_flags(netns, [](short flags) { return static_cast<short>(flags | IFF_UP); });
  });
}

Result<bool> is_up(const std::string& netns) {
  bool up = false;
  BERTH_CHECK(net::in_network_namespace(netns, [&] {
    return with_flags(netns, [&](short flags) {
      up = (flags & IFF_UP) != 0;
      return flags;
    });
  }));
  return up;
}

} // namespace

LoopbackDevice kernel_loopback() {
  return {.bring_up = &bring_up, .is_up = &is_up};
}

} // namespace berth::runtime::cni
