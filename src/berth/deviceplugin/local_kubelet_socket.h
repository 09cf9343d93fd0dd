// Plugins and the kubelet of one machine in one process: no files, no sockets, any Loop.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/loop.h"
#include "berth/deviceplugin/kubelet_socket.h"

namespace berth::deviceplugin {

/// Listening never fails here.
class LocalKubeletSocket final : public KubeletSocket {
 public:
  explicit LocalKubeletSocket(Loop& loop);
  ~LocalKubeletSocket() override;
  LocalKubeletSocket(const LocalKubeletSocket&) = delete;
  LocalKubeletSocket& operator=(const LocalKubeletSocket&) = delete;

  Result<std::unique_ptr<Handle>> listen(Registration& server) override;
  std::unique_ptr<Handle> watch(std::function<void()> on_listening) override;
  void register_plugin(RegisterRequest request, Done<void> done) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::deviceplugin
