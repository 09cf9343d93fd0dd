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
      : connection_(std::move(connection)), service_(std::move(service)), gone_(std::move(gone)),
        reader_(service_->options.limits), timer_(loop) {}

  void start() {
    timer_.set(service_->options.idle_timeout, [this] { end(); });
    read();
  }

  /// Nothing is called or answered from here on.
  void stop() {
    stopped_ = true;
    timer_.cancel();
    connection_->close();
  }

 private:
  void end() {
    if (!stopped_) {
      stop();
      gone_(shared_from_this());
    }
  }

  void read() {
    connection_->read([self = shared_from_this()](Result<std::string_view> bytes) {
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
    if (!fed) {
      refuse(fed.error().status, fed.error().message);
    } else if (auto request = reader_.take()) {
      serve(*std::move(request));
    } else {
      if (fresh) {
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
    const std::uint64_t turn = ++turn_;
    const bool keep = request.keep_alive;
    const Body body = request.method == "HEAD" ? Body::Omit : Body::Send;
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
    timer_.set(service_->options.idle_timeout, [this] { end(); });
    const bool keep = response.keep_alive;
    connection_->write(to_bytes(response, body),
                       [self = shared_from_this(), keep](Result<void> sent) {
                         if (self->stopped_) {
                           return;
                         }
                         if (!sent || !keep) {
                           self->end();
                           return;
                         }
                         self->answered_ = false;
                         self->got({}); // what was sent ahead
                       });
  }

  std::shared_ptr<Connection> connection_;
  std::shared_ptr<const Service> service_;
  Gone gone_;
  RequestReader reader_;
  Timer timer_;
  std::uint64_t turn_ = 0;
  bool answered_ = false;
  bool stopped_ = false;
};

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
    BERTH_TRY(listener_, net::listen(*loop_, service_->options.address, service_->options.port,
                                     [this](std::shared_ptr<Connection> connection) {
                                       greet(std::move(connection));
                                     }));
    return {};
  }
  std::uint16_t port() const override { return listener_->port(); }

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
