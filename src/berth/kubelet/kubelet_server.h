// What a node's agent serves to its API server, as a kubelet does: logs, exec, attach,
// port-forward, which pods it has, its health and metrics. TLS; who asks shows a client certificate
// or a bearer token. Source: kubelet server.go.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/kubelet/local_node.h"
#include "berth/kubelet/local_nodes.h"
#include "berth/kubelet/usage_meter.h"
#include "berth/net/http_server.h"
#include "berth/server/access/static_tokens.h"

namespace berth::kubelet {

inline constexpr std::uint16_t kKubeletPort = 10250;
/// Whom kubeadm's API servers are towards kubelets.
inline constexpr const char* kApiServerUser = "kube-apiserver-kubelet-client";

struct KubeletServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = kKubeletPort; ///< 0: any that is free
  /// With the authority whose client certificates count. Null: plain HTTP, for tests.
  std::shared_ptr<const net::TlsContext> tls;
  server::StaticTokens tokens; ///< bearers whose user is told below
  /// Who may ask, by certificate or token: user names, and groups.
  std::vector<std::string> users{kApiServerUser};
  std::vector<std::string> groups{"system:masters"};
  std::function<std::string()> metrics; ///< Prometheus' text format; none: 404
  std::function<std::string()> pods;    ///< a PodList in JSON; none: the runtime's pods by name
  std::string node;                     ///< its name
  UsageMeter* meter = nullptr; ///< of /stats/summary and /metrics/resource; null: 404. Outlives
                               ///< the server
  AskGpus gpus;                ///< of /stats/gpus and /metrics/gpus; none: it has none
  std::string gpu_driver;      ///< its version; "": not known
};

/// Serves until destroyed. /healthz is for everybody.
class KubeletServer {
 public:
  virtual ~KubeletServer() = default;

  /// Errors: the port is taken, the address is none. The node must outlive the server.
  static Result<std::unique_ptr<KubeletServer>> listen(LocalNode& node,
                                                       KubeletServerOptions options);
  virtual std::uint16_t port() const = 0;
};

} // namespace berth::kubelet
