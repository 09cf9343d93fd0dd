// Bytes over TCP, plain or under TLS, on an AsioLoop. The only files that see sockets are
// transport.cc, network_namespace.cc and asio_loop.cc; what the bytes mean is other files'
// business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/net/asio_loop.h"
#include "berth/net/tls.h"

namespace berth::net {

/// One TCP connection. Callbacks run as later tasks of the loop, never inside the call, and not
/// after close(). At most one read and one write are under way. Lives until nobody holds it.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Resolves, connects and shakes hands. Error Unavailable names host and port. Once, and before
  /// all else.
  virtual void connect(const std::string& host, std::uint16_t port,
                       std::function<void(Result<void>)> done) = 0;
  /// What has arrived, at least a byte; "" once the other side has ended. The bytes are valid
  /// during the call.
  virtual void read(std::function<void(Result<std::string_view>)> done) = 0;
  virtual void write(std::string bytes, std::function<void(Result<void>)> done) = 0;
  /// Ends it, at once. Idempotent.
  virtual void close() = 0;
  /// Who the other side has proved to be; none without a client certificate.
  virtual std::optional<Peer> peer() const = 0;
};

struct ConnectionOptions {
  std::shared_ptr<const TlsContext> tls = nullptr; ///< null: plain
  /// Path of the network namespace to connect from; "": this process's. Names are looked up in this
  /// process's all the same.
  std::string network_namespace = {};
};

std::shared_ptr<Connection> make_connection(AsioLoop& loop, ConnectionOptions options = {});

/// Connects and gives the socket, non-blocking, to `done`, who owns it: for libraries that speak
/// over sockets themselves. Closing what is returned gives up. Errors as Connection::connect().
std::shared_ptr<Connection> connect_socket(AsioLoop& loop, const std::string& host,
                                           std::uint16_t port, std::string network_namespace,
                                           std::function<void(Result<int>)> done);

/// Accepts connections until it is dropped.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::uint16_t port() const = 0;
};

struct ListenOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                ///< 0: any that is free
  std::shared_ptr<const TlsContext> tls; ///< null: plain
  Duration handshake_timeout = Duration::seconds(10);
  /// So many at once: who comes meanwhile is accepted later, so that in a rush nobody's handshake
  /// runs out of time because of all the others'. The kernel keeps those who wait.
  int most_handshakes = 512;
};

/// Hands on connections that are ready to be read: those whose handshake fails are closed in
/// silence. Error Unavailable: e.g. another process has the port.
Result<std::unique_ptr<Listener>>
listen(AsioLoop& loop, const ListenOptions& options,
       std::function<void(std::shared_ptr<Connection>)> on_connection);

} // namespace berth::net
