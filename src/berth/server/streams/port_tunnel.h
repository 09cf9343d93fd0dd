// port-forward for clients that put SPDY's bytes into the messages of a WebSocket, as kubectl does
// since 1.31. Source: apiserver util/proxy streamtunnel.go.
#pragma once

#include <string>

#include "berth/net/http_server.h"
#include "berth/server/nodes.h"
#include "berth/server/streams/live_connections.h"

namespace berth::server {

/// `protocol`: the subprotocol that the client offers, "SPDY/3.1+portforward.k8s.io"; what is
/// behind the plus is asked of the streaming server. If that refuses, its refusal is the answer.
void tunnel_ports(const net::HttpRequest& request, const std::string& protocol,
                  const StreamPlace& place, LiveConnections& live, net::HttpRespond respond);

} // namespace berth::server
