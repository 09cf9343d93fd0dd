#include "berth/server/streams/connect.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/server/streams/pass_on.h"
#include "berth/server/streams/port_tunnel.h"
#include "berth/server/streams/protocols.h"
#include "berth/server/streams/remote_command.h"
#include "berth/store/errors.h"

namespace berth::server {

Answer<void> check_upgrade(const net::HttpRequest& request) {
  if (!net::asks_to_upgrade(request)) {
    return bad_request("Upgrade request required");
  }
  if (!net::asks_to_upgrade(request, kWebSocket) && !net::asks_to_upgrade(request, kSpdy)) {
    return bad_request(fmt::format("no upgrade to {} is possible here; try websocket or {}",
                                   store::quote(net::header_of(request.headers, "Upgrade")),
                                   kSpdy));
  }
  return {};
}

void connect_streams(const net::HttpRequest& request, const StreamRequest& what,
                     const StreamPlace& place, LiveConnections& live, net::HttpRespond respond) {
  const auto offered = net::asks_to_upgrade(request, kWebSocket)
                           ? net::list_in_header(request.headers, "Sec-WebSocket-Protocol")
                           : std::vector<std::string>();
  const auto tunnelled = std::ranges::find_if(
      offered, [](const std::string& one) { return one.starts_with(kTunnelPrefix); });
  if (what.kind == StreamRequest::Kind::PortForward && tunnelled != offered.end()) {
    tunnel_ports(request, *tunnelled, place, live, std::move(respond));
  } else if (what.kind != StreamRequest::Kind::PortForward &&
             std::ranges::find(offered, kRemoteCommandV5) != offered.end()) {
    translate_remote_command(request, what, place, live, std::move(respond));
  } else {
    pass_on(request, place, live, std::move(respond));
  }
}

} // namespace berth::server
