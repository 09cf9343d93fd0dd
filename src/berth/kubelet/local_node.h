// The containers of this machine as the API server sees them: their logs, and where one speaks with
// their processes. Asks the Runtime alone, so that it serves whoever runs pods here: berth up, or
// an agent's own server. Source: kubelet kubelet_pods.go (GetExec, GetAttach, GetPortForward,
// GetKubeletContainerLogs).
#pragma once

#include <functional>
#include <memory>

#include "berth/net/asio_loop.h"
#include "berth/runtime/runtime.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

/// Loop and runtime must outlive it, and it what it has opened. Of several attempts of a container
/// the last is meant, or with `previous` the one before it.
class LocalNode {
 public:
  LocalNode(net::AsioLoop& loop, runtime::Runtime& runtime);

  using LogOpened = std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)>;
  void open_log(server::LogRequest what, std::function<void()> on_more, LogOpened done);
  void find_streams(server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done);
  runtime::Runtime& runtime() const { return *runtime_; }
  net::AsioLoop& loop() const { return *loop_; }

 private:
  net::AsioLoop* loop_;
  runtime::Runtime* runtime_;
};

} // namespace berth::kubelet
