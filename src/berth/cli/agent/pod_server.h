// Where an agent of its own offers its pods' logs, and exec, attach and port-forward, to the API
// server: the kubelet's port.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "berth/base/result.h"
#include "berth/cli/listen_address.h"
#include "berth/kubelet/kubelet_server.h"
#include "berth/net/asio_loop.h"

namespace berth::cli {

struct PodServerOptions {
  ListenAddress listen;
  std::string node;
  std::string client_ca; ///< PEM: whose certificates show the API server
  std::string disk;      ///< a directory on the file system that pods are kept on
  kubelet::AskGpus gpus; ///< none: it has none
  std::string gpu_driver;
  std::function<std::string()> metrics; ///< of the agent
};

/// The node's containers, and their server. Loop and runtime must outlive it.
class PodServer {
 public:
  /// Its certificate is signed by itself, as a kubelet's is that nobody gave one. Errors: the
  /// address is taken, the authority cannot be read.
  static Result<std::unique_ptr<PodServer>> open(net::AsioLoop& loop, runtime::Runtime& runtime,
                                                 const PodServerOptions& options);
  std::uint16_t port() const { return server_->port(); }

 private:
  PodServer(net::AsioLoop& loop, runtime::Runtime& runtime, const std::string& disk)
      : local_(loop, runtime), meter_(loop, runtime, {.disk = disk}) {}

  kubelet::LocalNode local_;
  kubelet::UsageMeter meter_;
  std::unique_ptr<kubelet::KubeletServer> server_;
};

} // namespace berth::cli
