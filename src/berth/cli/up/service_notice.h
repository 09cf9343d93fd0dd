// What a service manager is told of this process: systemd's sd_notify, a datagram to the socket
// that $NOTIFY_SOCKET names. Source: sd_notify(3).
#pragma once

#include <string_view>

namespace berth::cli {

/// "READY=1", "STOPPING=1". Does nothing where nobody asked to be told.
void notify_service(std::string_view state);

} // namespace berth::cli
