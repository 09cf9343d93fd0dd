#include "berth/net/transport.h"

#include <array>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

namespace berth::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

tl::unexpected<Error> unavailable(std::string_view what, const error_code& error) {
  return fail(Code::Unavailable, fmt::format("{}: {}", what, error.message()));
}

class TcpConnection final : public Connection, public std::enable_shared_from_this<TcpConnection> {
 public:
  explicit TcpConnection(tcp::socket socket)
      : socket_(std::move(socket)), resolver_(socket_.get_executor()) {}

  void connect(const std::string& host, std::uint16_t port,
               std::function<void(Result<void>)> done) override {
    const std::string where = fmt::format("cannot connect to {}:{}", host, port);
    resolver_.async_resolve(
        host, std::to_string(port),
        [self = shared_from_this(), where, done = std::move(done)](
            const error_code& error, const tcp::resolver::results_type& found) mutable {
          if (self->closed_) {
            return;
          }
          if (error) {
            done(unavailable(where, error));
            return;
          }
          self->try_next({found.begin(), found.end()}, 0, std::move(where), std::move(done));
        });
  }

  void read(std::function<void(Result<std::string_view>)> done) override {
    socket_.async_read_some(boost::asio::buffer(buffer_),
                            [self = shared_from_this(),
                             done = std::move(done)](const error_code& error, std::size_t size) {
                              if (self->closed_) {
                                return;
                              }
                              if (error && error != boost::asio::error::eof) {
                                done(unavailable("connection lost while reading", error));
                              } else {
                                done(std::string_view(self->buffer_.data(), size));
                              }
                            });
  }

  void write(std::string bytes, std::function<void(Result<void>)> done) override {
    writing_ = std::move(bytes);
    boost::asio::async_write(
        socket_, boost::asio::buffer(writing_),
        [self = shared_from_this(), done = std::move(done)](const error_code& error, std::size_t) {
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
      socket_.shutdown(tcp::socket::shutdown_both, ignored);
      socket_.close(ignored);
    }
  }

 private:
  /// A name may have several addresses; the last one's error is told.
  void try_next(std::vector<tcp::endpoint> found, std::size_t at, std::string where,
                std::function<void(Result<void>)> done) {
    const tcp::endpoint endpoint = found[at];
    error_code ignored;
    socket_.close(ignored);
    socket_.async_connect(endpoint, [self = shared_from_this(), found = std::move(found), at,
                                     where = std::move(where),
                                     done = std::move(done)](const error_code& error) mutable {
      if (self->closed_) {
        return;
      }
      if (error && at + 1 < found.size()) {
        self->try_next(std::move(found), at + 1, std::move(where), std::move(done));
        return;
      }
      if (!error) {
        error_code no_matter;
        self->socket_.set_option(tcp::no_delay(true), no_matter);
      }
      done(error ? Result<void>(unavailable(where, error)) : Result<void>());
    });
  }

  tcp::socket socket_;
  tcp::resolver resolver_;
  std::array<char, 16 * 1024> buffer_;
  std::string writing_;
  bool closed_ = false;
};

class TcpListener final : public Listener {
 public:
  using Sink = std::function<void(std::shared_ptr<Connection>)>;

  TcpListener(boost::asio::io_context& io, Sink on_connection)
      : state_(std::make_shared<State>(io, std::move(on_connection))) {}
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
    State(boost::asio::io_context& io, Sink sink) : acceptor(io), on_connection(std::move(sink)) {}

    static void accept(const std::shared_ptr<State>& state) {
      state->acceptor.async_accept([state](const error_code& error, tcp::socket socket) {
        if (!state->on_connection || error == boost::asio::error::operation_aborted) {
          return;
        }
        if (!error) {
          error_code ignored;
          socket.set_option(tcp::no_delay(true), ignored);
          state->on_connection(std::make_shared<TcpConnection>(std::move(socket)));
        }
        if (state->on_connection) {
          accept(state);
        }
      });
    }

    tcp::acceptor acceptor;
    Sink on_connection;
  };
  std::shared_ptr<State> state_;
};

} // namespace

std::shared_ptr<Connection> make_connection(AsioLoop& loop) {
  return std::make_shared<TcpConnection>(tcp::socket(loop.io()));
}

Result<std::unique_ptr<Listener>>
listen(AsioLoop& loop, const std::string& address, std::uint16_t port,
       std::function<void(std::shared_ptr<Connection>)> on_connection) {
  error_code error;
  const auto parsed = boost::asio::ip::make_address(address, error);
  if (error) {
    return fail(Code::BadRequest,
                fmt::format("\"{}\" is no IP address to listen on; try 127.0.0.1", address));
  }
  auto listener = std::make_unique<TcpListener>(loop.io(), std::move(on_connection));
  BERTH_CHECK(listener->open({parsed, port}));
  return std::unique_ptr<Listener>(std::move(listener));
}

} // namespace berth::net
