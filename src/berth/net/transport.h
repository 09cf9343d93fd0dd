// Bytes over TCP on an AsioLoop. The only files that see sockets are transport.cc and asio_loop.cc;
// what the bytes mean is other files' business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/net/asio_loop.h"

namespace berth::net {

/// One TCP connection. Callbacks run as later tasks of the loop, never inside the call, and not
/// after close(). At most one read and one write are under way. Lives until nobody holds it.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Resolves and connects. Error Unavailable names host and port. Once, and before all else.
  virtual void connect(const std::string& host, std::uint16_t port,
                       std::function<void(Result<void>)> done) = 0;
  /// What has arrived, at least a byte; "" once the other side has ended. The bytes are valid
  /// during the call.
  virtual void read(std::function<void(Result<std::string_view>)> done) = 0;
  virtual void write(std::string bytes, std::function<void(Result<void>)> done) = 0;
  /// Ends it, at once. Idempotent.
  virtual void close() = 0;
};

std::shared_ptr<Connection> make_connection(AsioLoop& loop);

/// Accepts connections until it is dropped.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual std::uint16_t port() const = 0;
};

/// `port` 0: any that is free. Error Unavailable: e.g. another process has the port.
Result<std::unique_ptr<Listener>>
listen(AsioLoop& loop, const std::string& address, std::uint16_t port,
       std::function<void(std::shared_ptr<Connection>)> on_connection);

} // namespace berth::net
