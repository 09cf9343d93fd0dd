// Nodes whose agents are other processes, as the API server sees them: asked over HTTPS at the
// address and port that their Node objects tell (status.addresses, status.daemonEndpoints). Source:
// pkg/kubelet/client kubelet_client.go.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "berth/api/json.h"
#include "berth/net/http_client.h"
#include "berth/server/nodes.h"
#include "berth/store/registry.h"

namespace berth::kubelet {

struct RemoteNodesOptions {
  /// With the certificate that this API server shows. Kubelets' own certificates are often signed
  /// by themselves: whoever sets it says whether they are believed.
  std::shared_ptr<const net::TlsContext> tls;
  std::string bearer_token; ///< "": none is sent
};

/// Loop and registry must outlive it.
class RemoteNodes final : public server::Nodes {
 public:
  RemoteNodes(net::AsioLoop& loop, const store::Registry& registry, RemoteNodesOptions options);

  /// Its object says where its agent listens; whether that answers is seen when it is asked.
  bool has(std::string_view node) const override;
  void
  open_log(std::string_view node, server::LogRequest what, std::function<void()> on_more,
           std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) override;
  void find_streams(std::string_view node, server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done) override;
  /// Asks their agents side by side; one that does not answer in ten seconds has no usage.
  void measure(const std::vector<std::string>& nodes, std::function<void()> done) override;
  /// As its agent told when it was last measured.
  std::optional<server::NodeUsage> usage(std::string_view node) const override;

 private:
  struct Measuring;
  void ask(const net::HttpUrl& agent, std::string target,
           const std::shared_ptr<Measuring>& measuring,
           std::function<void(const api::json::value&)> take);
  void keep(Measuring& measured);
  std::optional<net::HttpUrl> agent_of(std::string_view node) const;
  net::HttpHeaders headers() const;

  net::AsioLoop* loop_;
  const store::Registry* registry_;
  RemoteNodesOptions options_;
  net::HttpClient client_;
  std::map<std::string, server::NodeUsage, std::less<>> usages_; ///< by node
};

} // namespace berth::kubelet
