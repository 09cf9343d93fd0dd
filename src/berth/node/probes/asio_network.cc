#include "berth/node/probes/asio_network.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "berth/net/http_client.h"
#include "berth/net/tls.h"
#include "berth/net/transport.h"
#include "berth/rpc/channel.h"
#include "berth/rpc/typed.h"
#include "node/probes/health.pb.h"

namespace berth::node {
namespace {

// A probe that leaves its connection open would keep a server busy between two probes.
net::HttpClientOptions client_options() {
  net::HttpClientOptions options{.idle_connections = 0};
  if (auto tls = net::TlsContext::client({.insecure = true})) {
    options.tls = *std::move(tls);
  }
  return options;
}

net::HttpRequest request_of(const HttpCheck& what) {
  net::HttpRequest request{.target = what.path, .keep_alive = false};
  const auto given = [&](std::string_view name) {
    return !net::header_of(what.headers, name).empty();
  };
  request.headers = what.headers;
  if (!given("User-Agent")) {
    request.headers.emplace_back("User-Agent", "kube-probe/1.34");
  }
  if (!given("Accept")) {
    request.headers.emplace_back("Accept", "*/*");
  }
  return request;
}

} // namespace

struct AsioProbeNetwork::State : std::enable_shared_from_this<State> {
  explicit State(net::AsioLoop& on)
      : loop(&on), options(client_options()), http(std::make_shared<net::HttpClient>(on, options)) {
  }

  std::shared_ptr<net::HttpClient> client_in(const std::string& network_namespace) {
    if (network_namespace.empty()) {
      return http;
    }
    net::HttpClientOptions with = options;
    with.network_namespace = network_namespace;
    return std::make_shared<net::HttpClient>(*loop, std::move(with));
  }
  /// What a question is asked with stays until forget(), and is gone with this.
  std::uint64_t keep(std::shared_ptr<void> what) {
    kept[++asked] = std::move(what);
    return asked;
  }
  /// Later: whoever answers is perhaps what is kept.
  void forget(std::uint64_t number) {
    loop->post([weak = weak_from_this(), number] {
      if (const auto self = weak.lock()) {
        self->kept.erase(number);
      }
    });
  }
  void ask(rpc::Channel& channel, std::uint64_t number, const GrpcCheck& what, Duration timeout,
           std::function<void(Result<std::string>)> done);

  net::AsioLoop* loop;
  net::HttpClientOptions options;
  std::shared_ptr<net::HttpClient> http;
  std::uint64_t asked = 0;
  std::map<std::uint64_t, std::shared_ptr<void>> kept;
};

AsioProbeNetwork::AsioProbeNetwork(net::AsioLoop& loop) : state_(std::make_shared<State>(loop)) {}

AsioProbeNetwork::~AsioProbeNetwork() = default;

void AsioProbeNetwork::get(const HttpCheck& what, Duration timeout,
                           std::function<void(Result<int>)> done) {
  const net::HttpUrl url{.tls = what.scheme == HttpCheck::Scheme::Https,
                         .host = what.host,
                         .port = what.port,
                         .path = ""};
  const std::shared_ptr<net::HttpClient> client = state_->client_in(what.network_namespace);
  client->send(
      url, request_of(what),
      [weak = std::weak_ptr(state_), number = state_->keep(client), done = std::move(done),
       name = what.url()](const Result<net::HttpResponse>& response) {
        if (const auto state = weak.lock()) {
          state->forget(number);
        }
        if (response) {
          done(response->status);
        } else {
          done(fail(response.error().code,
                    fmt::format("Get \"{}\": {}", name, response.error().message)));
        }
      },
      timeout);
}

namespace {

/// Whichever comes first, the connection or its time, answers; the other finds nothing to do.
struct Attempt {
  explicit Attempt(net::AsioLoop& loop) : deadline(loop) {}
  std::shared_ptr<net::Connection> connection;
  Timer deadline;
  std::function<void(Result<void>)> done;

  void limit(const std::shared_ptr<Attempt>& self, Duration timeout, const TcpCheck& where) {
    deadline.set(timeout, [self, where] {
      self->finish(
          fail(Code::Timeout, fmt::format("dial tcp {}:{}: i/o timeout", where.host, where.port)));
    });
  }
  void finish(Result<void> outcome) {
    deadline.cancel();
    connection->close();
    if (auto tell = std::exchange(done, nullptr)) {
      tell(std::move(outcome));
    }
  }
};

} // namespace

void AsioProbeNetwork::connect(const TcpCheck& where, Duration timeout,
                               std::function<void(Result<void>)> done) {
  auto attempt = std::make_shared<Attempt>(*state_->loop);
  attempt->connection = net::make_connection(
      *state_->loop, {.tls = nullptr, .network_namespace = where.network_namespace});
  attempt->done = std::move(done);
  attempt->limit(attempt, timeout, where);
  attempt->connection->connect(where.host, where.port, [attempt](Result<void> connected) {
    attempt->finish(std::move(connected));
  });
}

void AsioProbeNetwork::State::ask(rpc::Channel& channel, std::uint64_t number,
                                  const GrpcCheck& what, Duration timeout,
                                  std::function<void(Result<std::string>)> done) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(what.service);
  rpc::call<grpc::health::v1::HealthCheckResponse>(
      channel, "/grpc.health.v1.Health/Check", request, {.timeout = timeout},
      [this, number,
       done = std::move(done)](const Result<grpc::health::v1::HealthCheckResponse>& response) {
        forget(number); // the channel answers, so this has not gone, which would end it
        done(response.map([](const grpc::health::v1::HealthCheckResponse& answer) {
          using Response = grpc::health::v1::HealthCheckResponse;
          return Response::ServingStatus_IsValid(answer.status())
                     ? Response::ServingStatus_Name(answer.status())
                     : fmt::to_string(static_cast<int>(answer.status()));
        }));
      });
}

// A channel for one question: a probe leaves nothing open between two of them. gRPC connects by
// itself, but not from another namespace: there the connection is made for it.
void AsioProbeNetwork::ask_health(const GrpcCheck& what, Duration timeout,
                                  std::function<void(Result<std::string>)> done) {
  State& state = *state_;
  if (what.network_namespace.empty()) {
    auto channel = std::make_shared<rpc::Channel>(*state.loop, "tcp://" + what.address());
    state.ask(*channel, state.keep(channel), what, timeout, std::move(done));
    return;
  }
  auto attempt = std::make_shared<Attempt>(*state.loop);
  attempt->done = [done](const Result<void>& failed) { done(tl::unexpected(failed.error())); };
  attempt->limit(attempt, timeout, {.host = what.host, .port = what.port});
  attempt->connection = net::connect_socket(
      *state.loop, what.host, what.port, what.network_namespace,
      [weak = std::weak_ptr(state_), attempt, what, done = std::move(done),
       end = state.loop->now() + timeout](Result<int> socket) {
        if (!socket) {
          attempt->finish(tl::unexpected(std::move(socket).error()));
          return;
        }
        attempt->deadline.cancel();
        const auto live = weak.lock();
        if (!live) {
          ::close(*socket);
          return;
        }
        auto channel = std::make_shared<rpc::Channel>(*live->loop, *socket, what.address());
        live->ask(*channel, live->keep(channel), what, end - live->loop->now(), done);
      });
}

} // namespace berth::node
