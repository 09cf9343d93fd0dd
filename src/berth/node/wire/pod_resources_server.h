// The kubelet's PodResources API v1 on /var/lib/kubelet/pod-resources/kubelet.sock, which DCGM's
// exporter and others ask for the pods behind the devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "berth/base/result.h"
#include "berth/net/asio_loop.h"
#include "berth/node/agent_counts.h"
#include "berth/node/pod_resources.h"
#include "berth/rpc/server.h"

namespace berth::node {

/// Serves while it lives; the loop must outlive it. A hundred questions a second are answered, ten
/// at once.
class PodResourcesServer {
 public:
  /// Makes the socket's directory, mode 0750, unless it is there. `report` is asked at each
  /// question. Errors: directory or socket cannot be made.
  static Result<std::unique_ptr<PodResourcesServer>>
  listen(net::AsioLoop& loop, const std::string& socket,
         std::function<PodResourcesReport()> report);
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;
  ~PodResourcesServer();

  const PodResourcesCounts& counts() const;

 private:
  struct State;
  PodResourcesServer(std::shared_ptr<State> state, std::unique_ptr<rpc::Server> server);
  std::shared_ptr<State> state_;
  std::unique_ptr<rpc::Server> server_;
};

} // namespace berth::node
