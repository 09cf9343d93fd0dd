#include "berth/net/websocket.h"

#include <chrono>
#include <deque>
#include <utility>

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/net/connection_stream.h"

namespace berth::net {
namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using beast::error_code;

constexpr std::size_t kReasonBytes = 123; // what a control frame holds

std::chrono::nanoseconds nanos(Duration span) {
  return std::chrono::nanoseconds(span.count_nanos());
}

class BeastSocket final : public WebSocket, public std::enable_shared_from_this<BeastSocket> {
 public:
  BeastSocket(HandedOver from, const WebSocketLimits& limits) : stream_(std::move(from)) {
    stream_.read_message_max(limits.message_bytes);
    stream_.auto_fragment(false);
    stream_.set_option(websocket::stream_base::timeout{.handshake_timeout = nanos(limits.handshake),
                                                       .idle_timeout = nanos(limits.silence),
                                                       .keep_alive_pings = false});
  }

  void accept(const HttpRequest& request, std::string protocol, WebSocketDone done) {
    protocol_ = std::move(protocol);
    stream_.set_option(
        websocket::stream_base::decorator([named = protocol_](websocket::response_type& answer) {
          if (!named.empty()) {
            answer.set(beast::http::field::sec_websocket_protocol, named);
          }
        }));
    beast::http::request<beast::http::empty_body> asked;
    asked.method_string(request.method);
    asked.target(request.target);
    asked.version(11);
    for (const auto& [name, value] : request.headers) {
      asked.insert(name, value);
    }
    stream_.async_accept(
        asked, [self = shared_from_this(), done = std::move(done)](const error_code& error) {
          if (error) {
            done(fail(Code::BadRequest,
                      fmt::format("the request asks for no WebSocket: {}", error.message())));
          } else {
            done(self);
          }
        });
  }

  void shake_hands(const WebSocketRequest& what, WebSocketDone done) {
    stream_.set_option(websocket::stream_base::decorator(
        [headers = what.headers, protocols = what.protocols](websocket::request_type& request) {
          for (const auto& [name, value] : headers) {
            request.set(name, value);
          }
          if (!protocols.empty()) {
            request.set(beast::http::field::sec_websocket_protocol,
                        fmt::to_string(fmt::join(protocols, ", ")));
          }
        }));
    auto answer = std::make_shared<websocket::response_type>();
    const std::string target = what.to.path + what.target;
    stream_.async_handshake(*answer, what.to.authority(), target.empty() ? "/" : target,
                            [self = shared_from_this(), answer, where = what.to.authority(),
                             done = std::move(done)](const error_code& error) {
                              self->greeted(*answer, where, error, done);
                            });
  }

  const std::string& protocol() const override { return protocol_; }

  void read(std::function<void(Result<WebSocketMessage>)> done) override {
    stream_.async_read(buffer_, [self = shared_from_this(),
                                 done = std::move(done)](const error_code& error, std::size_t) {
      if (!self->dropped_) {
        done(self->taken(error));
      }
    });
  }

  void send(WebSocketMessage message, std::function<void()> sent) override {
    waiting_ += message.bytes.size();
    queue_.push_back({std::move(message), std::move(sent)});
    write_next();
  }

  std::size_t waiting() const override { return waiting_; }

  void close(std::uint16_t code, std::string reason) override {
    if (!closing_) {
      reason.resize(std::min(reason.size(), kReasonBytes));
      closing_ = WebSocketClose{.code = code, .reason = std::move(reason)};
      write_next();
    }
  }

  void drop() override {
    dropped_ = true;
    queue_.clear();
    waiting_ = 0;
    stream_.next_layer().close();
  }

  std::optional<WebSocketClose> closed() const override { return closed_; }

 private:
  struct Outgoing {
    WebSocketMessage message;
    std::function<void()> sent;
  };

  void greeted(const websocket::response_type& answer, const std::string& where,
               const error_code& error, const WebSocketDone& done) {
    if (error == websocket::error::upgrade_declined) {
      done(fail(Code::BadRequest, fmt::format("{} opens no WebSocket: {} {}", where,
                                              answer.result_int(), answer.body())));
    } else if (error) {
      done(fail(Code::Unavailable, fmt::format("{}: {}", where, error.message())));
    } else {
      protocol_ = std::string(answer[beast::http::field::sec_websocket_protocol]);
      done(shared_from_this());
    }
  }

  Result<WebSocketMessage> taken(const error_code& error) {
    if (error == websocket::error::closed) {
      closed_ = WebSocketClose{.code = stream_.reason().code,
                               .reason = std::string(stream_.reason().reason.c_str())};
      return fail(Code::Gone, fmt::format("closed by the other side with code {}", closed_->code));
    }
    if (error) {
      return fail(Code::Unavailable, fmt::format("WebSocket lost: {}", error.message()));
    }
    WebSocketMessage message{.kind = stream_.got_text() ? WebSocketMessage::Kind::Text
                                                        : WebSocketMessage::Kind::Binary,
                             .bytes = beast::buffers_to_string(buffer_.data())};
    buffer_.consume(buffer_.size());
    return message;
  }

  void write_next() {
    if (writing_ || dropped_) {
      return;
    }
    if (!queue_.empty()) {
      writing_ = true;
      const WebSocketMessage& message = queue_.front().message;
      stream_.text(message.kind == WebSocketMessage::Kind::Text);
      stream_.async_write(boost::asio::buffer(message.bytes),
                          [self = shared_from_this()](const error_code& error, std::size_t) {
                            self->written(error);
                          });
    } else if (closing_ && !std::exchange(close_begun_, true)) {
      const websocket::close_reason why(static_cast<websocket::close_code>(closing_->code),
                                        closing_->reason);
      stream_.async_close(why, [self = shared_from_this()](const error_code&) {
        if (!self->dropped_) {
          self->stream_.next_layer().close();
        }
      });
    }
  }

  void written(const error_code& error) {
    writing_ = false;
    if (dropped_) {
      return;
    }
    if (error) { // a read tells of it
      queue_.clear();
      waiting_ = 0;
      return;
    }
    const auto sent = std::move(queue_.front().sent);
    waiting_ -= queue_.front().message.bytes.size();
    queue_.pop_front();
    if (sent) {
      sent();
    }
    write_next();
  }

  /// Without compression: what runs in containers is not for this process to pack.
  websocket::stream<ConnectionStream, false> stream_;
  beast::flat_buffer buffer_;
  std::string protocol_;
  std::deque<Outgoing> queue_;
  std::size_t waiting_ = 0;
  std::optional<WebSocketClose> closing_;
  std::optional<WebSocketClose> closed_;
  bool writing_ = false;
  bool close_begun_ = false;
  bool dropped_ = false;
};

} // namespace

void accept_websocket(HandedOver from, const HttpRequest& request, std::string protocol,
                      WebSocketDone done, WebSocketLimits limits) {
  std::make_shared<BeastSocket>(std::move(from), limits)
      ->accept(request, std::move(protocol), std::move(done));
}

void connect_websocket(AsioLoop& loop, WebSocketRequest what, WebSocketDone done,
                       WebSocketLimits limits) {
  if (what.to.tls && what.tls == nullptr) {
    auto tls = TlsContext::client({});
    if (!tls) {
      loop.post([done = std::move(done), error = std::move(tls).error()] {
        done(tl::unexpected(error));
      });
      return;
    }
    what.tls = *std::move(tls);
  }
  auto connection = make_connection(loop, {.tls = what.to.tls ? what.tls : nullptr});
  const std::string host = what.to.host;
  const std::uint16_t port = what.to.port;
  connection->connect(host, port,
                      [on = &loop, connection, what = std::move(what), done = std::move(done),
                       limits](Result<void> connected) {
                        if (!connected) {
                          done(tl::unexpected(std::move(connected).error()));
                          return;
                        }
                        std::make_shared<BeastSocket>(
                            HandedOver{.loop = on, .connection = connection, .ahead = {}}, limits)
                            ->shake_hands(what, done);
                      });
}

} // namespace berth::net
