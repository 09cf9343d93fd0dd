// An HTTP/1.1 server, plain or under TLS: a component's own pages (metrics, health, decisions) and
// the Kubernetes API. Loopback unless told otherwise.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/net/asio_loop.h"
#include "berth/net/http.h"

namespace berth::net {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                ///< 0: any that is free
  std::shared_ptr<const TlsContext> tls; ///< null: plain
  HttpLimits limits;
  Duration request_timeout = Duration::seconds(10); ///< from a request's first byte to its last
  Duration idle_timeout = Duration::seconds(60);    ///< between requests
  std::size_t connections = 256;                    ///< beyond them new ones are closed at once
  /// A streamed answer whose reader is this far behind is cut off.
  std::size_t stream_bytes = std::size_t{64} * 1024 * 1024;
};

/// Answers once, in the call or later; a second answer, or one after the server is gone, is
/// dropped. A streamed answer's stream may be used until it is ended or gone.
using HttpRespond = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(const HttpRequest&, HttpRespond)>;

/// Serves until destroyed, which must be before the loop is. Malformed requests get 400, too large
/// ones 413 or 431, slow ones 408; then the connection ends. Requests of one connection are
/// answered one after the other.
class HttpServer {
 public:
  /// Error Unavailable: the port is taken. BadRequest: the address is none.
  static Result<std::unique_ptr<HttpServer>> listen(AsioLoop& loop, HttpServerOptions options,
                                                    HttpHandler handler);
  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const = 0;
  /// Takes no new connections, and closes each that is there after the answer that it waits for; at
  /// once, if it waits for none. What is streamed goes on until its stream ends.
  virtual void drain() = 0;
  virtual std::size_t connections() const = 0;
};

/// Handlers by path and method: 404 for unknown paths, 405 with Allow for other methods. HEAD is
/// answered as GET.
class HttpRouter {
 public:
  void on(std::string method, std::string path, HttpHandler handler);
  void operator()(const HttpRequest& request, const HttpRespond& respond) const;

 private:
  std::map<std::string, std::map<std::string, HttpHandler>, std::less<>> routes_;
};

} // namespace berth::net
