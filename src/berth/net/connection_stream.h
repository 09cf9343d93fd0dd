// A Connection as Asio's composed operations read and write streams, for this room's sources.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/system/error_code.hpp>

#include "berth/net/asio_loop.h"
#include "berth/net/http.h"
#include "berth/net/transport.h"

namespace berth::net {

/// Runs a handler that can be run once, out of the callback that could be copied.
template <class Handler, class... Arguments>
void run_kept(const std::shared_ptr<Handler>& kept, Arguments... arguments) {
  Handler handler = std::move(*kept);
  handler(arguments...);
}

/// Handlers are not called after close(); what is lost is told as connection_reset, an end as eof.
class ConnectionStream {
 public:
  using executor_type = boost::asio::io_context::executor_type;
  using error_code = boost::system::error_code;

  explicit ConnectionStream(HandedOver from)
      : loop_(from.loop), connection_(std::move(from.connection)), ahead_(std::move(from.ahead)) {}

  executor_type get_executor() { return loop_->io().get_executor(); }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& into, Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    if (!ahead_.empty() || boost::asio::buffer_size(into) == 0) {
      const std::size_t size = take_ahead(into);
      boost::asio::post(get_executor(), [kept, size] { run_kept(kept, error_code(), size); });
      return;
    }
    connection_->read([this, into, kept](Result<std::string_view> bytes) {
      if (!bytes || bytes->empty()) {
        run_kept(kept,
                 bytes ? error_code(boost::asio::error::eof)
                       : error_code(boost::asio::error::connection_reset),
                 std::size_t{0});
        return;
      }
      ahead_ = *bytes;
      const std::size_t size = take_ahead(into);
      run_kept(kept, error_code(), size);
    });
  }

  template <class Buffers, class Handler>
  void async_write_some(const Buffers& from, Handler&& handler) {
    auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    std::string bytes(boost::asio::buffer_size(from), '\0');
    boost::asio::buffer_copy(boost::asio::buffer(bytes), from);
    const std::size_t size = bytes.size();
    connection_->write(std::move(bytes), [kept, size](Result<void> sent) {
      run_kept(kept, sent ? error_code() : error_code(boost::asio::error::connection_reset),
               sent ? size : std::size_t{0});
    });
  }

  void close() { connection_->close(); }

 private:
  template <class Buffers> std::size_t take_ahead(const Buffers& into) {
    const std::size_t size = boost::asio::buffer_copy(into, boost::asio::buffer(ahead_));
    ahead_.erase(0, size);
    return size;
  }

  AsioLoop* loop_;
  std::shared_ptr<Connection> connection_;
  std::string ahead_;
};

// What Beast calls, found by the type of the stream, when a WebSocket has ended.
template <class Handler>
void async_teardown(boost::beast::role_type, ConnectionStream& stream, Handler&& handler) {
  stream.close();
  auto kept = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
  boost::asio::post(stream.get_executor(), [kept] { run_kept(kept, boost::system::error_code()); });
}
inline void beast_close_socket(ConnectionStream& stream) {
  stream.close();
}
inline void teardown(boost::beast::role_type, ConnectionStream& stream,
                     boost::system::error_code& error) {
  stream.close();
  error = {};
}

} // namespace berth::net
