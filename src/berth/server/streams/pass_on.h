// Client and streaming server speak the same protocol: the request is asked again there, and bytes
// are passed on both ways.
#pragma once

#include "berth/net/http_server.h"
#include "berth/server/nodes.h"
#include "berth/server/streams/live_connections.h"

namespace berth::server {

/// Answers with what the streaming server answers. Of the client's headers only those of the
/// protocol are told to it, never the client's credentials.
void pass_on(const net::HttpRequest& request, const StreamPlace& place, LiveConnections& live,
             net::HttpRespond respond);

} // namespace berth::server
