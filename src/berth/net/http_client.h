// An HTTP/1.1 client on an AsioLoop, plain or under TLS: one answer to one request, within a time,
// connections kept for the next request to the same place; or an answer that comes piece by piece
// for as long as it lasts.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "berth/base/time.h"
#include "berth/net/asio_loop.h"
#include "berth/net/http.h"

namespace berth::net {

struct HttpClientOptions {
  Duration timeout = Duration::seconds(30); ///< of a whole call, connecting included
  HttpLimits limits{.header_bytes = std::size_t{64} * 1024,
                    .body_bytes = std::size_t{64} * 1024 * 1024};
  std::size_t idle_connections = 4;              ///< kept for each place
  Duration idle_timeout = Duration::seconds(30); ///< a kept connection is closed after it
  std::shared_ptr<const TlsContext> tls; ///< for https; null: the system's authorities are trusted
  std::string network_namespace = {}; ///< to connect from, as for connections; "": this process's
};

/// What becomes of a request whose answer is streamed. `head` comes first, then pieces, then `end`
/// once: success if the answer was whole. Without `head` there was no answer.
struct HttpStreamEvents {
  std::function<void(const HttpResponse&)> head; ///< without a body
  std::function<void(std::string_view)> piece;
  std::function<void(Result<void>)> end;
};

/// A streamed answer. Dropping it closes the connection; nothing is called afterwards.
class HttpStreamCall {
 public:
  virtual ~HttpStreamCall() = default;

  /// No pieces come until resume(): the other side has to wait. For readers that have enough.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Must be destroyed before the loop; calls under way are then given up in silence.
class HttpClient {
 public:
  HttpClient(AsioLoop& loop, HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// `request.target` is appended to the URL's path. `done` runs once, as a later task: with the
  /// response, whatever its status, or Unavailable (no connection, no HTTP, too large) or Timeout.
  /// `timeout` overrides the options'. A request is sent again only if a kept connection turns out
  /// to have been closed before any byte of an answer, as Go's client does.
  void send(const HttpUrl& to, HttpRequest request, std::function<void(Result<HttpResponse>)> done,
            std::optional<Duration> timeout = {});

  /// On a connection of its own. `options.timeout` bounds the time to the head; afterwards
  /// `silence`, if any, bounds the time between pieces.
  std::unique_ptr<HttpStreamCall> stream(const HttpUrl& to, HttpRequest request,
                                         HttpStreamEvents events,
                                         std::optional<Duration> silence = {});

 private:
  struct State;
  class Call;
  class Streaming;
  std::shared_ptr<State> state_;
};

/// The same for who has no real-time loop to wait on, e.g. a simulation: blocks the thread.
class BlockingHttpClient {
 public:
  explicit BlockingHttpClient(HttpClientOptions options = {})
      : client_(loop_, std::move(options)) {}

  Result<HttpResponse> send(const HttpUrl& to, HttpRequest request,
                            std::optional<Duration> timeout = {});

 private:
  AsioLoop loop_;
  HttpClient client_;
};

} // namespace berth::net
