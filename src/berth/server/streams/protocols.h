// Names of the protocols in which one speaks with containers. Source: apimachinery
// util/remotecommand/constants.go, util/portforward/constants.go.
#pragma once

#include <string_view>

namespace berth::server {

inline constexpr std::string_view kWebSocket = "websocket";
inline constexpr std::string_view kSpdy = "SPDY/3.1";
/// Which protocol is spoken inside SPDY.
inline constexpr std::string_view kStreamProtocol = "X-Stream-Protocol-Version";
inline constexpr std::string_view kRemoteCommandV4 = "v4.channel.k8s.io";
/// The same, with a way to say that stdin has ended.
inline constexpr std::string_view kRemoteCommandV5 = "v5.channel.k8s.io";
/// Before the name of a protocol: SPDY's bytes are the messages of a WebSocket.
inline constexpr std::string_view kTunnelPrefix = "SPDY/3.1+";

/// The kinds of stream of a remote command, in their order over a WebSocket.
enum class Channel : unsigned char { Stdin = 0, Stdout = 1, Stderr = 2, Error = 3, Resize = 4 };
/// Instead of a channel, before the number of one: nothing more will come on that.
inline constexpr unsigned char kChannelEnds = 255;

} // namespace berth::server
