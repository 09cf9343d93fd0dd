// WebSocket (RFC 6455) over a connection that was HTTP's, by Boost.Beast: whole messages in and
// out. Pings are answered while a read is under way. Who does not read makes the other side wait;
// who sends can see how much waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/net/asio_loop.h"
#include "berth/net/http.h"

namespace berth::net {

struct WebSocketLimits {
  std::size_t message_bytes = std::size_t{16} * 1024 * 1024; ///< more is answered with code 1009
  Duration handshake = Duration::seconds(30);                ///< and of closing
  Duration silence = Duration::hours(4); ///< neither message nor ping: the other side is gone
};

struct WebSocketMessage {
  enum class Kind { Binary, Text };
  Kind kind = Kind::Binary;
  std::string bytes;
};

/// What the other side said when it closed. 1000: it was done; 1005: it did not say.
struct WebSocketClose {
  std::uint16_t code = 0;
  std::string reason;
};

/// Callbacks run as later tasks of the loop, and not after drop(). Lives while a read or write is
/// under way or somebody holds it.
class WebSocket {
 public:
  virtual ~WebSocket() = default;

  /// The subprotocol that both agreed on; "" for none.
  virtual const std::string& protocol() const = 0;
  /// The next message; one read at a time. Errors: Gone (the other side has closed, see closed()),
  /// Unavailable (lost, or no WebSocket).
  virtual void read(std::function<void(Result<WebSocketMessage>)> done) = 0;
  /// A message behind those before it. `sent`: the network has taken it.
  virtual void send(WebSocketMessage message, std::function<void()> sent = {}) = 0;
  /// Bytes of messages that the network has not taken yet.
  virtual std::size_t waiting() const = 0;
  /// Says that this side is done, once what was sent is out, and waits for the other to agree.
  /// Nothing may be sent afterwards. A reason is at most 123 bytes.
  virtual void close(std::uint16_t code, std::string reason) = 0;
  /// Ends it without a word.
  virtual void drop() = 0;
  virtual std::optional<WebSocketClose> closed() const = 0;
};

using WebSocketDone = std::function<void(Result<std::shared_ptr<WebSocket>>)>;

/// Answers a request that asks for a WebSocket, on its connection. `protocol`: which of the
/// subprotocols offered is spoken; "": none. Error BadRequest: the request is none; it has been
/// answered then.
void accept_websocket(HandedOver from, const HttpRequest& request, std::string protocol,
                      WebSocketDone done, WebSocketLimits limits = {});

struct WebSocketRequest {
  HttpUrl to;
  std::string target; ///< appended to the URL's path
  HttpHeaders headers;
  std::vector<std::string> protocols; ///< offered, best first
  std::shared_ptr<const TlsContext> tls;
};

/// Errors: Unavailable (no connection), BadRequest (the server refuses; its status and words are
/// in the message).
void connect_websocket(AsioLoop& loop, WebSocketRequest what, WebSocketDone done,
                       WebSocketLimits limits = {});

} // namespace berth::net
