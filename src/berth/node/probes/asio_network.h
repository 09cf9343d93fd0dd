// The network of probes and hooks on a real machine: its own, or that of a pod which nobody can
// reach from outside. Servers' certificates are not checked, and redirects are not followed, as
// with the kubelet a redirect is a success.
#pragma once

#include <memory>

#include "berth/net/asio_loop.h"
#include "berth/node/probes/network.h"

namespace berth::node {

/// The loop must outlive it; calls under way are given up when it goes.
class AsioProbeNetwork final : public ProbeNetwork {
 public:
  explicit AsioProbeNetwork(net::AsioLoop& loop);
  ~AsioProbeNetwork() override;

  void get(const HttpCheck& what, Duration timeout, std::function<void(Result<int>)> done) override;
  void connect(const TcpCheck& where, Duration timeout,
               std::function<void(Result<void>)> done) override;
  void ask_health(const GrpcCheck& what, Duration timeout,
                  std::function<void(Result<std::string>)> done) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
