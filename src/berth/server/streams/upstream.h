// The way to a streaming server: asking it to speak SPDY/3.1, or what a client asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/net/upgrade.h"
#include "berth/server/nodes.h"

namespace berth::server {

/// `done` is told of the connection, or why there is none, in kube-apiserver's words: the server's
/// own Status if it answered with one.
std::unique_ptr<net::UpgradeCall> dial_spdy(const StreamPlace& place, std::string_view protocol,
                                            std::function<void(Answer<net::Upgraded>)> done);

/// As kube-apiserver says it of a kubelet that cannot be reached.
Status dialing_failed(const Error& error);

} // namespace berth::server
