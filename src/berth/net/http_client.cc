#include "berth/net/http_client.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/net/transport.h"

namespace berth::net {

struct HttpClient::State {
  struct Kept {
    std::shared_ptr<Connection> connection;
    TimePoint until;
  };

  State(AsioLoop& on, HttpClientOptions given) : loop(&on), options(std::move(given)) {}

  /// Error: TLS cannot be set up.
  Result<std::shared_ptr<Connection>> open(const HttpUrl& to) {
    if (to.tls && options.tls == nullptr) {
      BERTH_TRY(options.tls, TlsContext::client({}));
    }
    return make_connection(*loop, {.tls = to.tls ? options.tls : nullptr,
                                   .network_namespace = options.network_namespace});
  }

  std::shared_ptr<Connection> reuse(const std::string& place) {
    std::vector<Kept>& kept = idle[place];
    while (!kept.empty()) {
      const Kept last = std::move(kept.back());
      kept.pop_back();
      if (last.until > loop->now()) {
        return last.connection;
      }
      last.connection->close();
    }
    return nullptr;
  }

  void keep(const std::string& place, std::shared_ptr<Connection> connection) {
    std::vector<Kept>& kept = idle[place];
    if (kept.size() < options.idle_connections) {
      kept.push_back(
          {.connection = std::move(connection), .until = loop->now() + options.idle_timeout});
    } else {
      connection->close();
    }
  }

  AsioLoop* loop;
  HttpClientOptions options;
  std::map<std::string, std::vector<Kept>> idle;
  std::set<std::shared_ptr<Call>> calls;
};

/// One request until its answer. Held by the client's state until it is over.
class HttpClient::Call : public std::enable_shared_from_this<HttpClient::Call> {
 public:
  Call(State& state, HttpUrl to, const HttpRequest& request,
       std::function<void(Result<HttpResponse>)> done)
      : state_(&state), to_(std::move(to)), place_((to_.tls ? "https://" : "") + to_.authority()),
        bytes_(to_bytes(request, to_.authority())),
        to_head_(request.method == "HEAD" ? ResponseReader::To::Head : ResponseReader::To::Get),
        done_(std::move(done)), timer_(*state.loop) {}

  void start(Duration timeout) {
    timer_.set(timeout, [this, timeout] {
      finish(fail(Code::Timeout,
                  fmt::format("no answer from {} within {}", place_, to_string(timeout))));
    });
    connection_ = state_->reuse(place_);
    reused_ = connection_ != nullptr;
    reused_ ? write() : connect();
  }

  void stop() {
    timer_.cancel();
    if (connection_) {
      connection_->close();
    }
    done_ = nullptr;
  }

 private:
  void connect() {
    auto opened = state_->open(to_);
    if (!opened) {
      state_->loop->post([self = shared_from_this(), error = std::move(opened).error()] {
        self->finish(tl::unexpected(error));
      });
      return;
    }
    connection_ = *std::move(opened);
    connection_->connect(to_.host, to_.port, [self = shared_from_this()](Result<void> connected) {
      if (!connected) {
        self->finish(tl::unexpected(std::move(connected).error()));
      } else {
        self->write();
      }
    });
  }

  void write() {
    reader_.emplace(state_->options.limits, to_head_);
    connection_->write(bytes_, [self = shared_from_this()](Result<void> sent) {
      if (!sent) {
        self->lost(sent.error());
      } else {
        self->read();
      }
    });
  }

  void read() {
    connection_->read([self = shared_from_this()](Result<std::string_view> bytes) {
      if (!bytes) {
        self->lost(bytes.error());
      } else {
        self->got(*bytes);
      }
    });
  }

  void got(std::string_view bytes) {
    if (bytes.empty() && !reader_->begun()) {
      lost({.code = Code::Unavailable, .message = "connection closed without an answer"});
      return;
    }
    const auto fed = bytes.empty() ? reader_->end() : reader_->feed(bytes);
    if (!fed) {
      finish(fail(fed.error().code, fmt::format("{}: {}", place_, fed.error().message)));
    } else if (reader_->done()) {
      finish(reader_->take());
    } else {
      read();
    }
  }

  /// A kept connection may have been closed by the other side meanwhile: once more, on a new one.
  void lost(const Error& error) {
    if (std::exchange(reused_, false) && !reader_->begun()) {
      connection_->close();
      connect();
    } else {
      finish(fail(error.code, fmt::format("{}: {}", place_, error.message)));
    }
  }

  void finish(Result<HttpResponse> answer) {
    const auto self = shared_from_this(); // until this is over
    timer_.cancel();
    state_->calls.erase(self);
    if (answer && answer->keep_alive) {
      state_->keep(place_, std::move(connection_));
    } else if (connection_) {
      connection_->close();
    }
    if (auto done = std::exchange(done_, nullptr)) {
      done(std::move(answer));
    }
  }

  State* state_;
  HttpUrl to_;
  std::string place_;
  std::string bytes_;
  ResponseReader::To to_head_;
  std::function<void(Result<HttpResponse>)> done_;
  Timer timer_;
  std::shared_ptr<Connection> connection_;
  std::optional<ResponseReader> reader_;
  bool reused_ = false;
};

/// A streamed answer; the reads and writes of its connection hold its state.
class HttpClient::Streaming final : public HttpStreamCall {
 public:
  Streaming(State& state, const HttpUrl& to, const HttpRequest& request, HttpStreamEvents events,
            std::optional<Duration> silence)
      : call_(std::make_shared<Running>(state, to, request, std::move(events), silence)) {
    call_->start();
  }
  ~Streaming() override { call_->stop(); }
  void pause() override { call_->paused = true; }
  void resume() override {
    if (std::exchange(call_->paused, false) && std::exchange(call_->held, false)) {
      call_->loop->post([call = call_] { call->go_on(); });
    }
  }

 private:
  struct Running : std::enable_shared_from_this<Running> {
    Running(State& state, HttpUrl target, const HttpRequest& request, HttpStreamEvents given,
            std::optional<Duration> quiet)
        : loop(state.loop), head_timeout(state.options.timeout), silence(quiet),
          to(std::move(target)), bytes(to_bytes(request, to.authority())), events(std::move(given)),
          reader(state.options.limits, ResponseReader::To::Get), timer(*state.loop),
          connection(state.open(to)) {}

    void start() {
      if (!connection) {
        loop->post([self = shared_from_this()] {
          self->finish(tl::unexpected(self->connection.error()));
        });
        return;
      }
      timer.set(head_timeout, [this] { late(head_timeout); });
      (*connection)->connect(to.host, to.port, [self = shared_from_this()](Result<void> connected) {
        connected ? self->write() : self->finish(std::move(connected));
      });
    }

    void stop() {
      stopped = true;
      timer.cancel();
      if (connection) {
        (*connection)->close();
      }
    }

    void write() {
      (*connection)->write(bytes, [self = shared_from_this()](Result<void> sent) {
        sent ? self->read() : self->finish(std::move(sent));
      });
    }

    void read() {
      (*connection)->read([self = shared_from_this()](Result<std::string_view> got) {
        if (!got) {
          self->finish(tl::unexpected(std::move(got).error()));
        } else {
          self->take(*got);
        }
      });
    }

    void take(std::string_view got) {
      fed = got.empty() ? reader.end() : reader.feed(got);
      if (reader.has_head() && !std::exchange(head_told, true)) {
        timer.cancel();
        events.head(reader.head());
      }
      go_on();
    }

    /// Tells of what has come, unless that has to wait, and reads on.
    void go_on() {
      if (stopped) {
        return;
      }
      if (paused) {
        held = true;
        timer.cancel();
        return;
      }
      if (head_told) {
        if (const std::string piece = reader.take_piece(); !piece.empty()) {
          events.piece(piece);
        }
      }
      if (stopped) {
        return;
      }
      if (!fed || reader.done()) {
        finish(std::move(fed));
        return;
      }
      if (head_told && silence) {
        timer.set(*silence, [this] { late(*silence); });
      }
      read();
    }

    void late(Duration limit) {
      finish(fail(Code::Timeout,
                  fmt::format("nothing from {} within {}", to.authority(), to_string(limit))));
    }

    void finish(Result<void> how) {
      if (stopped) {
        return;
      }
      const auto self = shared_from_this(); // until this is over
      stop();
      events.end(std::move(how));
    }

    AsioLoop* loop;
    Duration head_timeout;
    std::optional<Duration> silence;
    HttpUrl to;
    std::string bytes;
    HttpStreamEvents events;
    ResponseReader reader;
    Timer timer;
    Result<std::shared_ptr<Connection>> connection;
    bool head_told = false;
    bool paused = false;
    bool held = false; ///< what has come, and the next read, wait for resume()
    Result<void> fed;  ///< how the last bytes were read
    bool stopped = false;
  };

  std::shared_ptr<Running> call_;
};

HttpClient::HttpClient(AsioLoop& loop, HttpClientOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

HttpClient::~HttpClient() {
  for (const auto& call : state_->calls) {
    call->stop();
  }
  for (const auto& [place, kept] : state_->idle) {
    for (const State::Kept& one : kept) {
      one.connection->close();
    }
  }
}

void HttpClient::send(const HttpUrl& to, HttpRequest request,
                      std::function<void(Result<HttpResponse>)> done,
                      std::optional<Duration> timeout) {
  request.target = to.path + request.target;
  if (request.target.empty()) {
    request.target = "/";
  }
  auto call = std::make_shared<Call>(*state_, to, request, std::move(done));
  state_->calls.insert(call);
  call->start(timeout.value_or(state_->options.timeout));
}

std::unique_ptr<HttpStreamCall> HttpClient::stream(const HttpUrl& to, HttpRequest request,
                                                   HttpStreamEvents events,
                                                   std::optional<Duration> silence) {
  request.target = to.path + request.target;
  return std::make_unique<Streaming>(*state_, to, request, std::move(events), silence);
}

Result<HttpResponse> BlockingHttpClient::send(const HttpUrl& to, HttpRequest request,
                                              std::optional<Duration> timeout) {
  std::optional<Result<HttpResponse>> answer;
  client_.send(
      to, std::move(request),
      [&](Result<HttpResponse> response) {
        answer = std::move(response);
        loop_.stop();
      },
      timeout);
  loop_.run();
  return *std::move(answer);
}

} // namespace berth::net
