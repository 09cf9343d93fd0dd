#include "berth/net/transport.h"

#include <array>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <openssl/x509.h>

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

// What differs between plain and TLS streams.
tcp::socket& socket_of(tcp::socket& stream) {
  return stream;
}
tcp::socket& socket_of(ssl::stream<tcp::socket>& stream) {
  return stream.next_layer();
}

std::vector<std::string> entries(const X509_NAME* name, int nid) {
  std::vector<std::string> found;
  for (int at = X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(name), nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(name), nid, at)) {
    const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  return found;
}

std::optional<Peer> peer_of(const tcp::socket&) {
  return std::nullopt;
}
std::optional<Peer> peer_of(const ssl::stream<tcp::socket>& stream) {
  SSL* handle = const_cast<ssl::stream<tcp::socket>&>(stream).native_handle();
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(handle),
                                                                &X509_free);
  if (certificate == nullptr || SSL_get_verify_result(handle) != X509_V_OK) {
    return std::nullopt;
  }
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  const auto names = entries(subject, NID_commonName);
  return Peer{.common_name = names.empty() ? std::string() : names.back(),
              .organizations = entries(subject, NID_organizationName)};
}

template <class Stream>
class StreamConnection final : public Connection,
                               public std::enable_shared_from_this<StreamConnection<Stream>> {
 public:
  StreamConnection(Stream stream, std::shared_ptr<const TlsContext> tls)
      : stream_(std::move(stream)), resolver_(stream_.get_executor()), tls_(std::move(tls)) {}

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
    boost::asio::async_write(
        stream_, boost::asio::buffer(writing_),
        [self = this->shared_from_this(), done = std::move(done)](const error_code& error,
                                                                  std::size_t) {
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
      socket_of(stream_).shutdown(tcp::socket::shutdown_both, ignored);
      socket_of(stream_).close(ignored);
    }
  }

  std::optional<Peer> peer() const override { return peer_of(stream_); }

  /// `host`: the server that a client wants to speak with; "" on the server's side.
  void shake_hands(const std::string& host, const std::string& where, Ready done) {
    if constexpr (std::is_same_v<Stream, tcp::socket>) {
      done({});
    } else {
      if (!host.empty()) {
        const std::string& name = tls_->server_name().empty() ? host : tls_->server_name();
        SSL_set_tlsext_host_name(stream_.native_handle(), name.c_str());
        if (!tls_->insecure()) {
          error_code no_matter;
          stream_.set_verify_callback(ssl::host_name_verification(name), no_matter);
        }
      }
      stream_.async_handshake(host.empty() ? Stream::server : Stream::client,
                              [self = this->shared_from_this(), where,
                               done = std::move(done)](const error_code& error) {
                                if (!self->closed_) {
                                  done(error ? Result<void>(unavailable(where + ": TLS", error))
                                             : Result<void>());
                                }
                              });
    }
  }

 private:
  /// A name may have several addresses; the last one's error is told.
  void try_next(std::vector<tcp::endpoint> found, std::size_t at, std::string host,
                std::string where, Ready done) {
    const tcp::endpoint endpoint = found[at];
    error_code ignored;
    socket_of(stream_).close(ignored);
    socket_of(stream_).async_connect(endpoint,
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
                                         set_no_delay(socket_of(self->stream_));
                                         self->shake_hands(host, where, std::move(done));
                                       }
                                     });
  }

  Stream stream_;
  tcp::resolver resolver_;
  std::shared_ptr<const TlsContext> tls_;
  std::array<char, 16 * 1024> buffer_;
  std::string writing_;
  bool closed_ = false;
};

using PlainConnection = StreamConnection<tcp::socket>;
using TlsConnection = StreamConnection<ssl::stream<tcp::socket>>;

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
        if (state->on_connection) {
          accept(state);
        }
      });
    }

    static void greet(const std::shared_ptr<State>& state, tcp::socket socket) {
      const auto& tls = state->options.tls;
      if (tls == nullptr) {
        state->on_connection(std::make_shared<PlainConnection>(std::move(socket), nullptr));
        return;
      }
      auto connection = std::make_shared<TlsConnection>(
          ssl::stream<tcp::socket>(std::move(socket), tls->context()), tls);
      auto limit = std::make_shared<Timer>(*state->loop);
      limit->set(state->options.handshake_timeout, [connection] { connection->close(); });
      connection->shake_hands("", "handshake", [state, connection, limit](Result<void> shaken) {
        limit->cancel();
        if (shaken && state->on_connection) {
          state->on_connection(connection);
        } else {
          connection->close();
        }
      });
    }

    AsioLoop* loop;
    ListenOptions options;
    tcp::acceptor acceptor;
    Sink on_connection;
  };
  std::shared_ptr<State> state_;
};

} // namespace

std::shared_ptr<Connection> make_connection(AsioLoop& loop, std::shared_ptr<const TlsContext> tls) {
  if (tls == nullptr) {
    return std::make_shared<PlainConnection>(tcp::socket(loop.io()), nullptr);
  }
  ssl::stream<tcp::socket> stream(loop.io(), tls->context());
  return std::make_shared<TlsConnection>(std::move(stream), std::move(tls));
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
