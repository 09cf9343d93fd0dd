// HTTP/1.1 as values, and readers that turn bytes into them without touching a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/result.h"
#include "berth/net/tls.h"

namespace berth::net {

class AsioLoop;
class Connection;

/// Names compare without case; a name may come several times.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;
/// Value of the first header of this name; "" if there is none.
std::string_view header_of(const HttpHeaders& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/"; ///< path and query as sent
  HttpHeaders headers;
  std::string body;
  bool keep_alive = true;
  std::optional<Peer> peer; ///< of the connection; none without a client certificate

  /// The target without its query.
  std::string_view path() const;
  /// Value of a query parameter, percent-decoded; none if it is absent.
  std::optional<std::string> query(std::string_view name) const;
  /// All query parameters in order, percent-decoded; none if the target does not parse.
  HttpHeaders parameters() const;
};

/// The body of an answer that comes piece by piece.
class HttpStream {
 public:
  virtual ~HttpStream() = default;

  /// Sends a piece after those before. Dropped once the other side is gone.
  virtual void send(std::string_view bytes) = 0;
  /// The body is whole. Nothing may be sent afterwards.
  virtual void end() = 0;
  /// Bytes that the network has not taken yet.
  virtual std::size_t waiting() const = 0;
  /// Called once if the other side goes before end().
  virtual void on_gone(std::function<void()> gone) = 0;
  /// Called whenever the network has taken what was waiting. For writers that hold back while much
  /// waits; where nothing ever waits, it is never called.
  virtual void on_room(std::function<void()> /*room*/) {}
};

/// A connection that has left HTTP: whoever has it speaks for itself.
struct HandedOver {
  AsioLoop* loop = nullptr;
  std::shared_ptr<Connection> connection;
  std::string ahead; ///< what has come behind the HTTP message already
};

/// A long body of known size, made as the network takes it: it never lies in memory whole.
class HttpPieces {
 public:
  virtual ~HttpPieces() = default;
  /// Bytes of all pieces together.
  virtual std::size_t size() const = 0;
  /// The next piece; "" after the last.
  virtual std::string next() = 0;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;
  std::string body;
  bool keep_alive = true;
  std::shared_ptr<HttpPieces> pieces; ///< of a server's answer: if set, sent in place of `body`
  /// Of a server's answer: if set, the body is what is sent through the stream that it is given (as
  /// chunks), and `body` has no meaning.
  std::function<void(std::shared_ptr<HttpStream>)> stream;
  /// Of a server's answer: if set, nothing is sent, and the connection is given away, to be
  /// answered by whoever takes it. It no longer counts as one of the server's.
  std::function<void(HandedOver)> take_over;
};

/// The whole body, however it comes; not that of a stream. Pieces are used up.
std::string take_body(HttpResponse& response);

/// One line of plain text, ended.
HttpResponse text_response(int status, std::string text);
HttpResponse json_response(int status, std::string json);

/// Both are exceeded by an error, never by memory.
struct HttpLimits {
  std::size_t header_bytes = std::size_t{64} * 1024;
  std::size_t body_bytes = std::size_t{3} * 1024 * 1024;
};

/// Text to send. Content-Length and Connection are added; header names and values must not hold
/// line breaks (they are cut there).
std::string to_bytes(const HttpRequest& request, std::string_view host);
/// The same of a request to leave HTTP: its headers say for what (Upgrade).
std::string upgrade_bytes(const HttpRequest& request, std::string_view host);
/// `head`: the answer to a HEAD request has no body.
enum class Body { Send, Omit };
/// The head, and the body unless that is in pieces.
std::string to_bytes(HttpResponse response, Body body = Body::Send);
/// The head of an answer whose body comes in chunks, one such chunk, and what ends them.
std::string chunked_head(const HttpResponse& response);
std::string to_chunk(std::string_view bytes);
/// The head of an answer that ends HTTP on its connection: 101 Switching Protocols.
std::string switching_head(const HttpHeaders& headers);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// Turns the bytes of one connection into requests, one after the other.
class RequestReader {
 public:
  explicit RequestReader(HttpLimits limits);
  ~RequestReader();

  /// Error: what came is no request; its `status` is the answer: 400, 413, 431 or 505. The reader
  /// is of no use afterwards.
  struct Refusal {
    int status = 400;
    std::string message;
  };
  tl::expected<void, Refusal> feed(std::string_view bytes);
  /// The next whole request, if one is in.
  std::optional<HttpRequest> take();
  /// Once a request: it waits for "100 Continue" before it sends its body.
  bool wants_continue();
  /// Has a request begun that is not whole yet?
  bool in_request() const;
  /// What has come behind the requests that were taken; the reader is of no use afterwards.
  std::string take_rest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Turns the bytes of one answer into a response.
class ResponseReader {
 public:
  enum class To { Get, Head };
  ResponseReader(HttpLimits limits, To request);
  ~ResponseReader();

  /// Error Unavailable: no HTTP, or beyond the limits.
  Result<void> feed(std::string_view bytes);
  /// The other side has closed: ends a body that has no length.
  Result<void> end();
  bool done() const;
  /// Has a byte of the answer come?
  bool begun() const;
  /// The status line and the headers are in.
  bool has_head() const;
  /// Precondition: has_head. Without the body.
  HttpResponse head() const;
  /// What has come of the body since the last call, for bodies that do not end: it does not count
  /// towards the limit then.
  std::string take_piece();
  /// Precondition: done.
  HttpResponse take();
  /// What has come behind the answer; the reader is of no use afterwards.
  std::string take_rest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The request asks to leave HTTP for `protocol` ("websocket", "SPDY/3.1").
bool asks_to_upgrade(const HttpRequest& request, std::string_view protocol);
/// The request asks to leave HTTP for another protocol, whichever.
bool asks_to_upgrade(const HttpRequest& request);
/// All values of a header that is a list: every header of this name, split at commas.
std::vector<std::string> list_in_header(const HttpHeaders& headers, std::string_view name);

/// Where to send requests: "https://host:port/prefix", or "host:port" for http.
struct HttpUrl {
  bool tls = false;
  std::string host;
  std::uint16_t port = 80;
  std::string path; ///< "" or "/prefix", without a slash at its end

  /// Error BadRequest says what is wrong.
  static Result<HttpUrl> parse(std::string_view text);
  /// For the Host header: host:port, an IPv6 address in brackets.
  std::string authority() const;
  /// scheme://host:port/prefix
  std::string to_string() const;
};

} // namespace berth::net
