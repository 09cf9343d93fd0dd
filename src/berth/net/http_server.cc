#include "berth/net/http_server.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/net/transport.h"

namespace berth::net {
namespace {

/// What all connections of a server share; outlives the server as long as one of them lives.
struct Service {
  HttpServerOptions options;
  HttpHandler handler;
};

/// One connection: reads a request, waits for its answer, writes it, and so on. Held by the server
/// and by its own reads and writes.
class Session : public std::enable_shared_from_this<Session> {
 public:
  using Gone = std::function<void(const std::shared_ptr<Session>&)>;

  Session(AsioLoop& loop, std::shared_ptr<Connection> connection,
          std::shared_ptr<const Service> service, Gone gone)
      : loop_(&loop), connection_(std::move(connection)), service_(std::move(service)),
        gone_(std::move(gone)), peer_(connection_->peer()), reader_(service_->options.limits),
        timer_(loop) {}

  void start() {
    timer_.set(service_->options.idle_timeout, [this] { end(); });
    read();
  }

  /// Ends after the answer that is due, if any.
  void drain() {
    draining_ = true;
    keep_ = false;
    if (!busy_ && !reader_.in_request()) {
      end();
    }
  }

  /// Nothing is called or answered from here on, but that a stream is told it has no reader.
  void stop();

 private:
  class Stream;

  void end() {
    if (!stopped_) {
      stop();
      gone_(shared_from_this());
    }
  }

  void read() {
    if (std::exchange(reading_, true)) {
      return;
    }
    connection_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      self->reading_ = false;
      if (self->stopped_) {
        return;
      }
      if (!bytes || bytes->empty()) {
        self->end();
        return;
      }
      self->got(*bytes);
    });
  }

  void got(std::string_view bytes) {
    const bool fresh = !reader_.in_request();
    const auto fed = reader_.feed(bytes);
    if (streaming_) {
      fed ? read() : end(); // what is sent ahead waits
    } else if (!fed) {
      refuse(fed.error().status, fed.error().message);
    } else if (auto request = reader_.take()) {
      serve(*std::move(request));
    } else {
      if (fresh && reader_.in_request()) {
        timer_.set(service_->options.request_timeout,
                   [this] { refuse(408, "the request did not come in time"); });
      }
      if (reader_.wants_continue()) {
        connection_->write(
            "HTTP/1.1 100 Continue\r\n\r\n",
            [self = shared_from_this()](Result<void> sent) { sent ? self->read() : self->end(); });
      } else {
        read();
      }
    }
  }

  void refuse(int status, const std::string& why) {
    HttpResponse response = text_response(status, why);
    response.keep_alive = false;
    send(std::move(response), Body::Send);
  }

  void serve(HttpRequest request) {
    timer_.cancel();
    busy_ = true;
    const std::uint64_t turn = ++turn_;
    const bool keep = request.keep_alive;
    const Body body = request.method == "HEAD" ? Body::Omit : Body::Send;
    request.peer = peer_;
    service_->handler(request, [weak = weak_from_this(), turn, keep, body](HttpResponse response) {
      const auto self = weak.lock();
      if (self && !self->stopped_ && self->turn_ == turn && !self->answered_) {
        response.keep_alive = response.keep_alive && keep;
        self->answered_ = true;
        self->send(std::move(response), body);
      }
    });
  }

  void send(HttpResponse response, Body body) {
    if (response.take_over) {
      hand_over(response);
      return;
    }
    if (response.stream && body == Body::Send) {
      start_stream(response);
      return;
    }
    timer_.set(service_->options.idle_timeout, [this] { end(); });
    response.keep_alive = response.keep_alive && !draining_;
    keep_ = response.keep_alive;
    pieces_ = body == Body::Send ? response.pieces : nullptr;
    write(to_bytes(std::move(response), body));
  }

  /// The connection is no longer this server's.
  void hand_over(const HttpResponse& response) {
    const auto self = shared_from_this(); // until this is over
    stopped_ = true;
    timer_.cancel();
    gone_(self);
    response.take_over(
        {.loop = loop_, .connection = std::move(connection_), .ahead = reader_.take_rest()});
  }

  /// False: there is none left.
  bool write_piece() {
    std::string piece = pieces_ ? pieces_->next() : std::string();
    if (piece.empty()) {
      pieces_ = nullptr;
      return false;
    }
    timer_.set(service_->options.idle_timeout, [this] { end(); });
    write(std::move(piece));
    return true;
  }

  void write(std::string bytes) {
    connection_->write(std::move(bytes), [self = shared_from_this()](Result<void> sent) {
      if (!self->stopped_) {
        sent ? self->written() : self->end();
      }
    });
  }

  void written() {
    if (streaming_) {
      writing_ = false;
      flush();
    } else if (write_piece()) {
      return;
    } else if (!keep_) {
      end();
    } else {
      answered_ = false;
      busy_ = false;
      got({}); // what was sent ahead
    }
  }

  // ---- a streamed answer: what is sent while a write is under way goes out as one chunk after it
  void start_stream(const HttpResponse& response);
  void flush();
  void stream_send(std::string_view bytes) {
    if (stopped_ || !streaming_ || last_) {
      return;
    }
    waiting_ += bytes;
    if (waiting_.size() > service_->options.stream_bytes) {
      end();
    } else {
      flush();
    }
  }
  void stream_end() {
    if (!stopped_ && streaming_) {
      last_ = true;
      flush();
    }
  }

  AsioLoop* loop_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<const Service> service_;
  Gone gone_;
  std::optional<Peer> peer_;
  RequestReader reader_;
  Timer timer_;
  std::uint64_t turn_ = 0;
  bool reading_ = false;
  bool answered_ = false;
  bool busy_ = false; ///< a request has come whose answer is not out
  bool draining_ = false;
  bool keep_ = true;
  bool stopped_ = false;
  std::shared_ptr<HttpPieces> pieces_; ///< of the answer that is being sent

  bool streaming_ = false;
  bool writing_ = false; ///< a write of the stream is under way
  bool last_ = false;
  std::string waiting_;
  std::function<void()> stream_gone_;
  std::function<void()> stream_room_;
};

class Session::Stream final : public HttpStream {
 public:
  explicit Stream(const std::shared_ptr<Session>& session)
      : session_(session), turn_(session->turn_) {}

  void send(std::string_view bytes) override {
    if (const auto session = ours()) {
      session->stream_send(bytes);
    }
  }
  void end() override {
    if (const auto session = ours()) {
      session->stream_end();
    }
  }
  std::size_t waiting() const override {
    const auto session = ours();
    return session ? session->waiting_.size() : 0;
  }
  void on_gone(std::function<void()> gone) override {
    if (const auto session = ours()) {
      session->stream_gone_ = std::move(gone);
    }
  }
  void on_room(std::function<void()> room) override {
    if (const auto session = ours()) {
      session->stream_room_ = std::move(room);
    }
  }

 private:
  std::shared_ptr<Session> ours() const {
    auto session = session_.lock();
    return session && session->turn_ == turn_ && session->streaming_ ? session : nullptr;
  }

  std::weak_ptr<Session> session_;
  std::uint64_t turn_;
};

void Session::start_stream(const HttpResponse& response) {
  timer_.cancel();
  keep_ = response.keep_alive && !draining_;
  streaming_ = writing_ = true;
  last_ = false;
  write(chunked_head(response));
  read(); // tells when the other side goes
  response.stream(std::make_shared<Stream>(shared_from_this()));
}

void Session::flush() {
  if (writing_ || stopped_) {
    return;
  }
  if (waiting_.empty() && !last_) {
    if (const auto room = stream_room_) { // a copy: it may end the stream
      room();
    }
    return;
  }
  std::string bytes = to_chunk(std::exchange(waiting_, {}));
  if (last_) {
    bytes += kLastChunk;
    streaming_ = false;
    stream_gone_ = stream_room_ = nullptr;
    timer_.set(service_->options.idle_timeout, [this] { end(); });
  } else {
    writing_ = true;
  }
  write(std::move(bytes));
}

void Session::stop() {
  stopped_ = true;
  timer_.cancel();
  connection_->close();
  stream_room_ = nullptr;
  if (const auto gone = std::exchange(stream_gone_, nullptr)) {
    gone();
  }
}

class Server final : public HttpServer {
 public:
  Server(AsioLoop& loop, HttpServerOptions options, HttpHandler handler)
      : loop_(&loop),
        service_(std::make_shared<const Service>(Service{std::move(options), std::move(handler)})) {
  }
  ~Server() override {
    listener_ = nullptr;
    for (const auto& session : sessions_) {
      session->stop();
    }
  }

  Result<void> open() {
    const ListenOptions where{.address = service_->options.address,
                              .port = service_->options.port,
                              .tls = service_->options.tls};
    BERTH_TRY(listener_, net::listen(*loop_, where, [this](std::shared_ptr<Connection> connection) {
                greet(std::move(connection));
              }));
    port_ = listener_->port();
    return {};
  }
  std::uint16_t port() const override { return port_; }
  void drain() override {
    listener_ = nullptr;
    const auto sessions = sessions_; // those that end leave the set
    for (const auto& session : sessions) {
      session->drain();
    }
  }
  std::size_t connections() const override { return sessions_.size(); }

 private:
  void greet(std::shared_ptr<Connection> connection) {
    if (sessions_.size() >= service_->options.connections) {
      connection->close();
      return;
    }
    auto session = std::make_shared<Session>(
        *loop_, std::move(connection), service_,
        [this](const std::shared_ptr<Session>& gone) { sessions_.erase(gone); });
    sessions_.insert(session);
    session->start();
  }

  AsioLoop* loop_;
  std::shared_ptr<const Service> service_;
  std::unique_ptr<Listener> listener_;
  std::uint16_t port_ = 0;
  std::set<std::shared_ptr<Session>> sessions_;
};

} // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(AsioLoop& loop, HttpServerOptions options,
                                                       HttpHandler handler) {
  auto server = std::make_unique<Server>(loop, std::move(options), std::move(handler));
  BERTH_CHECK(server->open());
  return std::unique_ptr<HttpServer>(std::move(server));
}

void HttpRouter::on(std::string method, std::string path, HttpHandler handler) {
  routes_[std::move(path)].insert_or_assign(std::move(method), std::move(handler));
}

void HttpRouter::operator()(const HttpRequest& request, const HttpRespond& respond) const {
  const auto route = routes_.find(request.path());
  if (route == routes_.end()) {
    respond(text_response(404, fmt::format("there is nothing at {}", request.path())));
    return;
  }
  const auto handler = route->second.find(request.method == "HEAD" ? "GET" : request.method);
  if (handler == route->second.end()) {
    HttpResponse response =
        text_response(405, fmt::format("{} is not for {}", request.method, request.path()));
    std::string allow;
    for (const auto& [method, ignored] : route->second) {
      allow += (allow.empty() ? "" : ", ") + method;
    }
    response.headers.emplace_back("Allow", std::move(allow));
    respond(std::move(response));
    return;
  }
  handler->second(request, respond);
}

} // namespace berth::net
