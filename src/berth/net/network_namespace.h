// Work in another network namespace of this machine: what a socket made there reaches is what the
// processes of that namespace reach.
#pragma once

#include <functional>
#include <string>

#include "berth/base/result.h"

namespace berth::net {

/// Runs `work` in the network namespace that `path` shows ("/var/run/netns/x", "/proc/7/ns/net"),
/// on a thread of its own, and waits for it: for work that does not. Errors: NotFound (no such
/// namespace), Forbidden (not allowed to enter it), and the work's own.
Result<void> in_network_namespace(const std::string& path,
                                  const std::function<Result<void>()>& work);

/// A TCP socket of that namespace, non-blocking, closed when another program is run; it stays where
/// it was made, whoever uses it. The caller owns it. `family`: AF_INET or AF_INET6.
Result<int> tcp_socket_in(const std::string& path, int family);

} // namespace berth::net
