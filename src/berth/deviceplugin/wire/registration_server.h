// The kubelet's side of the directory of device plugins: v1beta1.Registration on kubelet.sock.
// What a plugin asks for is judged by the Registration behind it, which dials back.
#pragma once

#include <memory>
#include <string>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/kubelet_socket.h"
#include "berth/deviceplugin/wire/directory_patrol.h"
#include "berth/deviceplugin/wire/limits.h"
#include "berth/net/asio_loop.h"

namespace berth::deviceplugin {

/// Makes the directory, deletes every socket in it (plugins notice, and register anew) and listens;
/// again, on a new socket, if its own is deleted.
/// Dropping the handle ends that, and every connection to a plugin that was made through it. Loop
/// and registration must outlive it. Errors: the directory or the socket cannot be made.
Result<std::unique_ptr<KubeletSocket::Handle>>
serve_registration(net::AsioLoop& loop, const std::string& directory, Registration& registration,
                   WireLimits limits, PatrolTimes patrol);

} // namespace berth::deviceplugin
