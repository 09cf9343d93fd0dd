// TLS over a TCP socket, OpenSSL reading and writing the socket itself. Asio's ssl::stream keeps
// 34 KiB of buffers a connection and moves every byte through two more; here a connection that
// waits holds no buffer, which is what makes ten thousand watches cheap.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include "berth/net/tls.h"

using SSL = struct ssl_st;

namespace berth::net {

/// One side of a connection. Handlers run as later tasks of the socket's executor and must keep the
/// stream alive; one read and one write may be under way. Closing the socket ends both.
class TlsStream {
 public:
  using tcp = boost::asio::ip::tcp;
  using Done = std::function<void(const boost::system::error_code&, std::size_t)>;
  enum class Side { Client, Server };

  TlsStream(tcp::socket socket, const TlsContext& context);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  tcp::socket& socket() { return socket_; }

  /// Before the handshake of a client: the name or address that the server's certificate must have.
  void expect(const std::string& name);
  /// The socket is connected.
  void async_handshake(Side side, Done done);
  /// At least a byte; the error eof once the other side has ended.
  void async_read_some(boost::asio::mutable_buffer into, Done done);
  /// All of it.
  void async_write(boost::asio::const_buffer bytes, Done done);

  /// Whom the other side's certificate names, if it has shown one that is good.
  std::optional<Peer> peer() const;

 private:
  struct Operation;
  enum class Now { Inside, Later }; ///< whether the caller is still waiting for its call to return
  void begin(std::function<int(std::size_t)> attempt, std::size_t enough, Done done);
  void go_on(const std::shared_ptr<Operation>& operation, Now now);
  void finish(const std::shared_ptr<Operation>& operation, const boost::system::error_code& error,
              Now now);

  tcp::socket socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

} // namespace berth::net
