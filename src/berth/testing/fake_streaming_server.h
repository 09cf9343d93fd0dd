// A container runtime's streaming server without containers: speaks SPDY/3.1 and WebSocket with
// v4.channel.k8s.io as containerd's does, and behaves as the path says.
//   /cat       says on stdout what it hears on stdin, until that ends
//   /exit3     says "out" and "err" and ends with exit code 3
//   /flood     says 8 MiB on stdout
//   /resize    says on stdout what comes on the resize stream, until stdin ends
//   /vanish    closes the connection at once
//   /ports     says on each data stream what it hears there
//   else       400
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/net/http_server.h"
#include "berth/net/spdy/frames.h"
#include "berth/net/transport.h"
#include "berth/net/websocket.h"

namespace berth::test {

inline constexpr const char* kSuccess = R"({"metadata":{},"status":"Success"})";
inline constexpr const char* kExit3 =
    R"({"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: )"
    R"(exit status 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode",)"
    R"("message":"3"}]}})";
inline constexpr std::size_t kFlood = std::size_t{8} * 1024 * 1024;

/// One connection that speaks SPDY.
class FakeSpdySession : public std::enable_shared_from_this<FakeSpdySession> {
 public:
  FakeSpdySession(net::HandedOver on, std::string path)
      : connection_(std::move(on.connection)), path_(std::move(path)) {}

  void start(const std::string& protocol) {
    say(net::switching_head({{"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", protocol}}));
    read();
  }

 private:
  using Frame = net::spdy::Frame;
  using Writer = net::spdy::FrameWriter;

  void read() {
    connection_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      if (!bytes || bytes->empty()) {
        self->connection_->close();
        return;
      }
      self->reader_.feed(*bytes);
      for (auto frame = self->reader_.next(); frame && *frame; frame = self->reader_.next()) {
        self->take(**frame);
      }
      self->read();
    });
  }

  void take(const Frame& frame) {
    if (frame.type == Frame::Type::SynStream) {
      const std::string type(net::header_of(frame.headers, "streamtype"));
      streams_[type] = frame.stream;
      say(writer_.syn_reply(frame.stream, {}));
      opened(type);
    } else if (frame.type == Frame::Type::Data) {
      heard(frame);
    }
  }

  void opened(const std::string& type) {
    if (path_ == "/vanish") {
      connection_->close();
    } else if (path_ == "/exit3" && type == "stderr") {
      say(Writer::data(streams_["stdout"], "out", net::spdy::Fin::No));
      say(Writer::data(streams_["stderr"], "err", net::spdy::Fin::No));
      end(kExit3);
    } else if (path_ == "/flood" && type == "stderr") {
      say(Writer::data(streams_["stdout"], std::string(kFlood, 'f'), net::spdy::Fin::No));
      end(kSuccess);
    }
  }

  void heard(const Frame& frame) {
    if (path_ == "/ports") {
      say(Writer::data(frame.stream, frame.data,
                       frame.fin ? net::spdy::Fin::Yes : net::spdy::Fin::No));
      return;
    }
    const bool said =
        path_ == "/cat" ? frame.stream == streams_["stdin"] : frame.stream == streams_["resize"];
    if (said && !frame.data.empty()) {
      say(Writer::data(streams_["stdout"], frame.data, net::spdy::Fin::No));
    }
    if (frame.fin && frame.stream == streams_["stdin"]) {
      end(kSuccess);
    }
  }

  void end(const std::string& status) {
    say(Writer::data(streams_["error"], status, net::spdy::Fin::No));
    for (const auto& [type, stream] : streams_) {
      say(Writer::rst_stream(stream, 5));
    }
    say(Writer::go_away(0));
    last_ = true;
  }

  void say(const std::string& bytes) {
    waiting_ += bytes;
    flush();
  }

  void flush() {
    if (writing_ || waiting_.empty()) {
      return;
    }
    writing_ = true;
    connection_->write(std::exchange(waiting_, {}), [self = shared_from_this()](Result<void> sent) {
      self->writing_ = false;
      if (sent && !self->waiting_.empty()) {
        self->flush();
      } else if (!sent || self->last_) {
        self->connection_->close();
      }
    });
  }

  std::shared_ptr<net::Connection> connection_;
  std::string path_;
  Writer writer_;
  net::spdy::FrameReader reader_;
  std::map<std::string, net::spdy::StreamId> streams_;
  std::string waiting_;
  bool writing_ = false;
  bool last_ = false;
};

class FakeStreamingServer {
 public:
  explicit FakeStreamingServer(net::AsioLoop& loop) {
    server_ = *net::HttpServer::listen(
        loop, {}, [this](const net::HttpRequest& request, const net::HttpRespond& respond) {
          requests.push_back(request);
          answer(request, respond);
        });
  }

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(server_->port()) + path;
  }

  std::vector<net::HttpRequest> requests;

 private:
  static void answer(const net::HttpRequest& request, const net::HttpRespond& respond) {
    const std::string path(request.path());
    const std::vector<std::string> known{"/cat",    "/exit3",  "/flood",
                                         "/resize", "/vanish", "/ports"};
    if (std::ranges::find(known, path) == known.end() || !net::asks_to_upgrade(request)) {
      respond(net::text_response(400, "container is in CONTAINER_EXITED state"));
      return;
    }
    net::HttpResponse response;
    if (net::asks_to_upgrade(request, "websocket")) {
      response.take_over = [request](net::HandedOver given) {
        net::accept_websocket(std::move(given), request, "v4.channel.k8s.io",
                              [](const Result<std::shared_ptr<net::WebSocket>>& opened) {
                                if (opened) {
                                  echo(*opened);
                                }
                              });
      };
    } else {
      const std::string protocol(net::header_of(request.headers, "X-Stream-Protocol-Version"));
      response.take_over = [path, protocol](net::HandedOver given) {
        std::make_shared<FakeSpdySession>(std::move(given), path)->start(protocol);
      };
    }
    respond(std::move(response));
  }

  /// What comes on channel 0 is said on channel 1.
  static void echo(const std::shared_ptr<net::WebSocket>& socket) {
    socket->read([socket](Result<net::WebSocketMessage> message) {
      if (!message) {
        socket->drop();
        return;
      }
      if (!message->bytes.empty()) {
        message->bytes[0] = '\1';
        socket->send(*std::move(message));
      }
      echo(socket);
    });
  }

  std::unique_ptr<net::HttpServer> server_;
};

} // namespace berth::test
