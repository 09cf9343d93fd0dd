// A client that wants to speak with a container, brought to the streaming server that waits for it.
// Where both speak the same protocol, bytes are passed on (SPDY/3.1 of every kubectl, WebSocket of
// v4.channel.k8s.io); what clients speak and runtimes do not is translated: remote commands of
// v5.channel.k8s.io, and port-forward's SPDY inside a WebSocket. Source: apiserver util/proxy
// (upgradeaware.go, streamtranslator.go, streamtunnel.go).
#pragma once

#include "berth/net/http_server.h"
#include "berth/server/nodes.h"
#include "berth/server/streams/live_connections.h"

namespace berth::server {

/// 400 for a request that does not ask to leave HTTP for a protocol that is spoken here.
Answer<void> check_upgrade(const net::HttpRequest& request);

/// Precondition: check_upgrade(request). Answers once. `live` outlives the server of the
/// connection, or is destroyed before the loop.
void connect_streams(const net::HttpRequest& request, const StreamRequest& what,
                     const StreamPlace& place, LiveConnections& live, net::HttpRespond respond);

} // namespace berth::server
