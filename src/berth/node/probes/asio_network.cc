#include "berth/node/probes/asio_network.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

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

struct AsioProbeNetwork::State {
  explicit State(net::AsioLoop& on) : loop(&on), http(on, client_options()) {}
  net::AsioLoop* loop;
  net::HttpClient http;
  std::uint64_t asked = 0;
  std::map<std::uint64_t, std::shared_ptr<rpc::Channel>> channels; ///< with a question under way
};

AsioProbeNetwork::AsioProbeNetwork(net::AsioLoop& loop) : state_(std::make_shared<State>(loop)) {}

AsioProbeNetwork::~AsioProbeNetwork() = default;

void AsioProbeNetwork::get(const HttpCheck& what, Duration timeout,
                           std::function<void(Result<int>)> done) {
  const net::HttpUrl url{.tls = what.scheme == HttpCheck::Scheme::Https,
                         .host = what.host,
                         .port = what.port,
                         .path = ""};
  state_->http.send(
      url, request_of(what),
      [done = std::move(done), name = what.url()](const Result<net::HttpResponse>& response) {
        if (response) {
          done(response->status);
        } else {
          done(fail(response.error().code,
                    fmt::format("Get \"{}\": {}", name, response.error().message)));
        }
      },
      timeout);
}

void AsioProbeNetwork::connect(const TcpCheck& where, Duration timeout,
                               std::function<void(Result<void>)> done) {
  // Whichever comes first, the connection or its time, answers; the other finds nothing to do.
  struct Attempt {
    explicit Attempt(net::AsioLoop& loop)
        : connection(net::make_connection(loop)), deadline(loop) {}
    std::shared_ptr<net::Connection> connection;
    Timer deadline;
    std::function<void(Result<void>)> done;

    void finish(Result<void> outcome) {
      deadline.cancel();
      connection->close();
      if (auto tell = std::exchange(done, nullptr)) {
        tell(std::move(outcome));
      }
    }
  };
  auto attempt = std::make_shared<Attempt>(*state_->loop);
  attempt->done = std::move(done);
  attempt->deadline.set(timeout, [attempt, where] {
    attempt->finish(
        fail(Code::Timeout, fmt::format("dial tcp {}:{}: i/o timeout", where.host, where.port)));
  });
  attempt->connection->connect(where.host, where.port, [attempt](Result<void> connected) {
    attempt->finish(std::move(connected));
  });
}

// A channel for one question: a probe leaves nothing open between two of them.
void AsioProbeNetwork::ask_health(const GrpcCheck& what, Duration timeout,
                                  std::function<void(Result<std::string>)> done) {
  auto channel = std::make_shared<rpc::Channel>(*state_->loop, "tcp://" + what.address());
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(what.service);
  const std::uint64_t number = ++state_->asked;
  state_->channels[number] = channel;
  rpc::call<grpc::health::v1::HealthCheckResponse>(
      *channel, "/grpc.health.v1.Health/Check", request, {.timeout = timeout},
      [state = std::weak_ptr(state_), number,
       done = std::move(done)](const Result<grpc::health::v1::HealthCheckResponse>& response) {
        if (const auto live = state.lock()) { // not within the channel's own call
          live->loop->post([state, number] {
            if (const auto later = state.lock()) {
              later->channels.erase(number);
            }
          });
        }
        done(response.map([](const grpc::health::v1::HealthCheckResponse& answer) {
          using Response = grpc::health::v1::HealthCheckResponse;
          return Response::ServingStatus_IsValid(answer.status())
                     ? Response::ServingStatus_Name(answer.status())
                     : fmt::to_string(static_cast<int>(answer.status()));
        }));
      });
}

} // namespace berth::node
