// The Kubernetes API: requests in, answers out, over a registry. Knows no sockets.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/net/http_server.h"
#include "berth/server/access/access.h"
#include "berth/server/access/audit.h"
#include "berth/server/health.h"
#include "berth/server/nodes.h"
#include "berth/server/table.h"
#include "berth/store/registry.h"

namespace berth::server {

struct ApiServerOptions {
  std::string address = "127.0.0.1:6443"; ///< told in discovery
  AccessOptions access = {};
  std::optional<TokenKey> account_key =
      {};                    ///< signs service accounts' tokens; none: one for this process
  AuditLog::Sink audit = {}; ///< none: nothing is audited
  GpuColumns gpu_columns = GpuColumns::Hidden;
  Nodes* nodes = nullptr; ///< null: what asks for nodes is answered 501
  /// Beside the server's own: ping, etcd (what is written is kept), shutdown (readyz alone).
  std::vector<HealthCheck> checks = {};
  /// Further metrics of the process, in Prometheus' text format; none: there are none.
  std::function<std::string()> more_metrics = {};
  /// Those of its nodes' agents, at /metrics/nodes; none: no such page.
  std::function<std::string()> node_metrics = {};
};

/// Runs on the loop's thread. Requests are decided one after the other, heartbeats before writes
/// and these before reads, so that a flood of lists starves nobody. Streams that it has begun end
/// when it is destroyed.
class ApiServer {
 public:
  /// The registry, which must outlive the server, has been bootstrapped and admits by with_rbac().
  /// Writes the roles that every cluster has. Errors: OpenSSL, or a store that cannot be written.
  static Result<std::unique_ptr<ApiServer>> open(Loop& loop, store::Registry& registry,
                                                 ApiServerOptions options);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  void handle(const net::HttpRequest& request, const net::HttpRespond& respond);

  /// A service account's token for a node of this process, which sends no requests: the
  /// TokenRequest with its status.
  Answer<boost::json::object> issue_token(const api::Key& account,
                                          const boost::json::value& request);

  /// The process is about to stop: /readyz fails, watches and followed logs end, so that their
  /// readers turn elsewhere, and so do connections to containers. Other requests are answered as
  /// before.
  void drain();

 private:
  struct State;
  explicit ApiServer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

} // namespace berth::server
