#include "berth/net/transport.h"

#include <array>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "berth/net/network_namespace.h"
#include "berth/net/tls_stream.h"

namespace berth::net {
namespace {

namespace ssl = boost::asio::ssl;
using boost::asio::ip::tcp;
using boost::system::error_code;
using Ready = std::function<void(Result<void>)>;

tl::unexpected<Error> unavailable(std::string_view what, const error_code& error) {
  return fail(Code::Unavailable, fmt::format("{}: {}", what, error.message()));
}

void set_no_delay(tcp::socket& socket) {
  error_code no_matter;
  socket.set_option(tcp::no_delay(true), no_matter);
}

bool ended(const error_code& error) {
  return error == boost::asio::error::eof || error == ssl::error::stream_truncated;
}

/// A socket without TLS, as TlsStream is used.
class PlainStream {
 public:
  using Done = TlsStream::Done;
  PlainStream(tcp::socket socket, const std::shared_ptr<const TlsContext>&)
      : socket_(std::move(socket)) {}

  tcp::socket& socket() { return socket_; }
  void async_read_some(boost::asio::mutable_buffer into, Done done) {
    socket_.async_read_some(into, std::move(done));
  }
  void async_write(boost::asio::const_buffer bytes, Done done) {
    boost::asio::async_write(socket_, bytes, std::move(done));
  }
  static std::optional<Peer> peer() { return std::nullopt; }
  static void shake_hands(const std::string&, Done done) { done({}, 0); }

 private:
  tcp::socket socket_;
};

class SecureStream : public TlsStream {
 public:
  SecureStream(tcp::socket socket, std::shared_ptr<const TlsContext> context)
      : TlsStream(std::move(socket), *context), context_(std::move(context)) {}

  void shake_hands(const std::string& host, Done done) {
    if (!host.empty()) {
      const std::string& name = context_->server_name().empty() ? host : context_->server_name();
      expect(name);
    }
    async_handshake(host.empty() ? Side::Server : Side::Client, std::move(done));
  }

 private:
  std::shared_ptr<const TlsContext> context_;
};

template <class Stream>
class StreamConnection final : public Connection,
                               public std::enable_shared_from_this<StreamConnection<Stream>> {
 public:
  StreamConnection(tcp::socket socket, ConnectionOptions options)
      : stream_(std::move(socket), std::move(options.tls)),
        resolver_(stream_.socket().get_executor()),
        network_namespace_(std::move(options.network_namespace)) {}

  void connect(const std::string& host, std::uint16_t port, Ready done) override {
    const std::string where = fmt::format("cannot connect to {}:{}", host, port);
    resolver_.async_resolve(
        host, std::to_string(port),
        [self = this->shared_from_this(), host, where, done = std::move(done)](
            const error_code& error, const tcp::resolver::results_type& found) mutable {
          if (self->closed_) {
            return;
          }
          if (error) {
            done(unavailable(where, error));
            return;
          }
          self->try_next({found.begin(), found.end()}, 0, std::move(host), std::move(where),
                         std::move(done));
        });
  }

  void read(std::function<void(Result<std::string_view>)> done) override {
    stream_.async_read_some(boost::asio::buffer(buffer_),
                            [self = this->shared_from_this(),
                             done = std::move(done)](const error_code& error, std::size_t size) {
                              if (self->closed_) {
                                return;
                              }
                              if (error && !ended(error)) {
                                done(unavailable("connection lost while reading", error));
                              } else {
                                done(std::string_view(self->buffer_.data(), size));
                              }
                            });
  }

  void write(std::string bytes, Ready done) override {
    writing_ = std::move(bytes);
    stream_.async_write(
        boost::asio::buffer(writing_), [self = this->shared_from_this(), done = std::move(done)](
                                           const error_code& error, std::size_t) {
          self->writing_ = {};
          if (self->closed_) {
            return;
          }
          done(error ? Result<void>(unavailable("connection lost while writing", error))
                     : Result<void>());
        });
  }

  void close() override {
    if (!std::exchange(closed_, true)) {
      error_code ignored;
      resolver_.cancel();
      stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
      stream_.socket().close(ignored);
    }
  }

  std::optional<Peer> peer() const override { return stream_.peer(); }

  /// The connected socket is the caller's; this connection is over.
  Result<int> release() {
    error_code error;
    const int socket = stream_.socket().release(error);
    closed_ = true;
    return error ? Result<int>(unavailable("cannot take a socket", error)) : socket;
  }

  /// `host`: the server that a client wants to speak with; "" on the server's side.
  void shake_hands(const std::string& host, const std::string& where, Ready done) {
    stream_.shake_hands(host, [self = this->shared_from_this(), where,
                               done = std::move(done)](const error_code& error, std::size_t) {
      if (!self->closed_) {
        done(error ? Result<void>(unavailable(where + ": TLS", error)) : Result<void>());
      }
    });
  }

 private:
  /// A name may have several addresses; the last one's error is told.
  void try_next(std::vector<tcp::endpoint> found, std::size_t at, std::string host,
                std::string where, Ready done) {
    const tcp::endpoint endpoint = found[at];
    error_code ignored;
    stream_.socket().close(ignored);
    if (const auto opened = open_in_namespace(endpoint.protocol()); !opened) {
      done(tl::unexpected(opened.error()));
      return;
    }
    stream_.socket().async_connect(endpoint,
                                   [self = this->shared_from_this(), found = std::move(found), at,
                                    host = std::move(host), where = std::move(where),
                                    done = std::move(done)](const error_code& error) mutable {
                                     if (self->closed_) {
                                       return;
                                     }
                                     if (error && at + 1 < found.size()) {
                                       self->try_next(std::move(found), at + 1, std::move(host),
                                                      std::move(where), std::move(done));
                                     } else if (error) {
                                       done(unavailable(where, error));
                                     } else {
                                       set_no_delay(self->stream_.socket());
                                       self->shake_hands(host, where, std::move(done));
                                     }
                                   });
  }

  /// A socket that is not open yet is opened where this process is.
  Result<void> open_in_namespace(const tcp& protocol) {
    if (network_namespace_.empty()) {
      return {};
    }
    BERTH_TRY(const int socket, tcp_socket_in(network_namespace_, protocol.family()));
    error_code error;
    stream_.socket().assign(protocol, socket, error);
    return error ? unavailable("cannot use a socket of another namespace", error) : Result<void>();
  }

  Stream stream_;
  tcp::resolver resolver_;
  std::string network_namespace_;
  std::array<char, 8 * 1024> buffer_; ///< small: there may be thousands that wait
  std::string writing_;
  bool closed_ = false;
};

using PlainConnection = StreamConnection<PlainStream>;
using TlsConnection = StreamConnection<SecureStream>;

class TcpListener final : public Listener {
 public:
  using Sink = std::function<void(std::shared_ptr<Connection>)>;

  TcpListener(AsioLoop& loop, const ListenOptions& options, Sink on_connection)
      : state_(std::make_shared<State>(loop, options, std::move(on_connection))) {}
  ~TcpListener() override {
    error_code ignored;
    state_->on_connection = nullptr;
    state_->acceptor.close(ignored);
  }

  Result<void> open(const tcp::endpoint& endpoint) {
    error_code error;
    state_->acceptor.open(endpoint.protocol(), error);
    if (!error) {
      state_->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
      state_->acceptor.bind(endpoint, error);
    }
    if (!error) {
      state_->acceptor.listen(tcp::acceptor::max_listen_connections, error);
    }
    if (error) {
      return unavailable(
          fmt::format("cannot listen on {}:{}", endpoint.address().to_string(), endpoint.port()),
          error);
    }
    State::accept(state_);
    return {};
  }

  std::uint16_t port() const override {
    error_code ignored;
    return state_->acceptor.local_endpoint(ignored).port();
  }

 private:
  struct State {
    State(AsioLoop& on, const ListenOptions& given, Sink sink)
        : loop(&on), options(given), acceptor(on.io()), on_connection(std::move(sink)) {}

    static void accept(const std::shared_ptr<State>& state) {
      state->acceptor.async_accept([state](const error_code& error, tcp::socket socket) {
        if (!state->on_connection || error == boost::asio::error::operation_aborted) {
          return;
        }
        if (!error) {
          set_no_delay(socket);
          greet(state, std::move(socket));
        }
        accept_more(state);
      });
    }

    static void accept_more(const std::shared_ptr<State>& state) {
      if (!state->on_connection) {
        return;
      }
      state->full = state->handshakes >= state->options.most_handshakes;
      if (!state->full) {
        accept(state);
      }
    }

    static void greet(const std::shared_ptr<State>& state, tcp::socket socket) {
      const auto& tls = state->options.tls;
      if (tls == nullptr) {
        state->on_connection(
            std::make_shared<PlainConnection>(std::move(socket), ConnectionOptions()));
        return;
      }
      auto connection =
          std::make_shared<TlsConnection>(std::move(socket), ConnectionOptions{.tls = tls});
      auto limit = std::make_shared<Timer>(*state->loop);
      ++state->handshakes;
      const auto over = [state] {
        --state->handshakes;
        if (state->full) {
          accept_more(state);
        }
      };
      limit->set(state->options.handshake_timeout, [connection, over] {
        connection->close(); // of which the handshake is not told
        over();
      });
      connection->shake_hands("", "handshake",
                              [state, connection, limit, over](Result<void> shaken) {
                                limit->cancel();
                                if (shaken && state->on_connection) {
                                  state->on_connection(connection);
                                } else {
                                  connection->close();
                                }
                                over();
                              });
    }

    AsioLoop* loop;
    ListenOptions options;
    tcp::acceptor acceptor;
    Sink on_connection;
    int handshakes = 0; ///< under way
    bool full = false;  ///< nobody is accepted until one of them ends
  };
  std::shared_ptr<State> state_;
};

} // namespace

std::shared_ptr<Connection> make_connection(AsioLoop& loop, ConnectionOptions options) {
  if (options.tls == nullptr) {
    return std::make_shared<PlainConnection>(tcp::socket(loop.io()), std::move(options));
  }
  return std::make_shared<TlsConnection>(tcp::socket(loop.io()), std::move(options));
}

std::shared_ptr<Connection> connect_socket(AsioLoop& loop, const std::string& host,
                                           std::uint16_t port, std::string network_namespace,
                                           std::function<void(Result<int>)> done) {
  auto connection = std::make_shared<PlainConnection>(
      tcp::socket(loop.io()),
      ConnectionOptions{.tls = nullptr, .network_namespace = std::move(network_namespace)});
  connection->connect(host, port, [connection, done = std::move(done)](Result<void> connected) {
    done(connected ? connection->release() : tl::unexpected(std::move(connected).error()));
  });
  return connection;
}

Result<std::unique_ptr<Listener>>
listen(AsioLoop& loop, const ListenOptions& options,
       std::function<void(std::shared_ptr<Connection>)> on_connection) {
  error_code error;
  const auto parsed = boost::asio::ip::make_address(options.address, error);
  if (error) {
    return fail(Code::BadRequest, fmt::format("\"{}\" is no IP address to listen on; try 127.0.0.1",
                                              options.address));
  }
  auto listener = std::make_unique<TcpListener>(loop, options, std::move(on_connection));
  BERTH_CHECK(listener->open({parsed, options.port}));
  return std::unique_ptr<Listener>(std::move(listener));
}

} // namespace berth::net
