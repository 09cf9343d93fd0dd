// exec and attach for clients of v5.channel.k8s.io: each message of their WebSocket is a channel
// and bytes of it; the streaming server is spoken to in SPDY/3.1, where stdin can end while output
// goes on. Source: apiserver util/proxy streamtranslator.go, websocket.go.
#pragma once

#include "berth/net/http_server.h"
#include "berth/server/nodes.h"
#include "berth/server/streams/live_connections.h"

namespace berth::server {

/// Takes the client's connection over at once. How the command fares is told on the error channel:
/// a Status, with the exit code among its causes if that is not 0.
void translate_remote_command(const net::HttpRequest& request, const StreamRequest& what,
                              const StreamPlace& place, LiveConnections& live,
                              const net::HttpRespond& respond);

} // namespace berth::server
