#include "berth/cli/up/service_notice.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "berth/cli/terminal.h"

namespace berth::cli {

void notify_service(std::string_view state) {
  const std::string path = process_environment()("NOTIFY_SOCKET").value_or("");
  sockaddr_un to{};
  if (path.size() < 2 || path.size() >= sizeof(to.sun_path)) {
    return;
  }
  to.sun_family = AF_UNIX;
  std::ranges::copy(path, to.sun_path);
  if (path.front() == '@') {
    to.sun_path[0] = '\0'; // of the abstract namespace
  }
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return;
  }
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  (void)::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to), length);
  ::close(socket);
}

} // namespace berth::cli
