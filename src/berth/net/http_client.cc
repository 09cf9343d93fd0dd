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

  State(AsioLoop& on, HttpClientOptions given) : loop(&on), options(given) {}

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
      : state_(&state), to_(std::move(to)), place_(to_.authority()),
        bytes_(to_bytes(request, place_)),
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
    connection_ = make_connection(*state_->loop);
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

HttpClient::HttpClient(AsioLoop& loop, HttpClientOptions options)
    : state_(std::make_shared<State>(loop, options)) {}

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
