// What berth up serves, in virtual time and without sockets: a cluster, and the API over it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/cli/up/agent_metrics.h"
#include "berth/cli/up/simulated_nodes.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/fault_injector.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/server/api_server.h"

namespace berth::cli::test {

/// The body of a streamed answer, as it comes.
class Collected final : public net::HttpStream {
 public:
  void send(std::string_view bytes) override { text += bytes; }
  void end() override { ended = true; }
  std::size_t waiting() const override { return 0; }
  void on_gone(std::function<void()> gone) override { gone_ = std::move(gone); }
  void leave() {
    if (const auto gone = std::exchange(gone_, nullptr)) {
      gone();
    }
  }

  std::string text;
  bool ended = false;

 private:
  std::function<void()> gone_;
};

class VirtualUp : public testing::Test {
 protected:
  VirtualUp() : cluster(loop, spec(), options()), nodes(loop, cluster.fleet(), cluster.registry()) {
    EXPECT_TRUE(cluster::define_faults(cluster.registry(), loop.now()).has_value());
    faults.emplace(loop, cluster.client(), Rng(7), cluster.fleet());
    server::ApiServerOptions api;
    api.access.tokens.add("admin",
                          {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}});
    api.nodes = &nodes;
    api.node_metrics = [this] { return agent_metrics(cluster.fleet(), nullptr); };
    server = *server::ApiServer::open(loop, cluster.registry(), std::move(api));
    run(Duration::seconds(2));
  }
  ~VirtualUp() override {
    for (const auto& stream : streams) {
      stream->leave();
    }
  }

  void run(Duration span) { loop.run_until(loop.now() + span); }

  net::HttpResponse ask(const std::string& method, const std::string& target,
                        std::string body = {}) {
    std::optional<net::HttpResponse> answer;
    server->handle({.method = method,
                    .target = target,
                    .headers = {{"Authorization", "Bearer admin"}},
                    .body = std::move(body)},
                   [&](net::HttpResponse given) { answer = std::move(given); });
    loop.run_until(loop.now());
    EXPECT_TRUE(answer.has_value()) << method << " " << target;
    return answer.value_or(net::HttpResponse());
  }
  api::json::value get(const std::string& target) {
    return api::parse_json(ask("GET", target).body).value_or(nullptr);
  }
  std::shared_ptr<Collected> stream(const std::string& target) {
    auto collected = std::make_shared<Collected>();
    const net::HttpResponse response = ask("GET", target);
    EXPECT_TRUE(response.stream) << response.body;
    if (response.stream) {
      response.stream(collected);
    }
    streams.push_back(collected);
    return collected;
  }
  /// Of one container c unless `containers` says otherwise; the default run is forever.
  void make_pod(const std::string& name, const std::string& annotations = "{}",
                const std::string& containers = R"([{"name":"c","image":"train:1","resources":
                    {"limits":{"nvidia.com/gpu":"2"}}}])",
                const std::string& policy = "Never") {
    const auto made =
        ask("POST", "/api/v1/namespaces/default/pods",
            fmt::format(
                R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","annotations":{}}},)"
                R"("spec":{{"restartPolicy":"{}","containers":{}}}}})",
                name, annotations, policy, containers));
    EXPECT_EQ(made.status, 201) << made.body;
  }

  static cluster::ClusterSpec spec() {
    cluster::ClusterSpec spec;
    spec.groups = {{.platform = "dgx-h100", .count = 2}};
    return spec;
  }
  static cluster::ClusterOptions options() {
    cluster::ClusterOptions options;
    options.default_run_for = Duration::max();
    options.registry = {.namespaces = store::Registry::Namespaces::MustExist,
                        .admission = server::with_rbac(store::server_admission())};
    return options;
  }

  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  cluster::Cluster cluster;
  SimulatedNodes nodes;
  std::optional<cluster::FaultInjector> faults;
  std::unique_ptr<server::ApiServer> server;
  std::vector<std::shared_ptr<Collected>> streams;
};

} // namespace berth::cli::test
