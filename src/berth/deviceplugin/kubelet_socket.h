// Where plugins and the kubelet of one machine meet: /var/lib/kubelet/device-plugins with its
// kubelet.sock. In one process: local_kubelet_socket.h; on disk: wire/kubelet_directory.h.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"

namespace berth::deviceplugin {

/// Outlives both sides. A kubelet listens while it lives; a plugin asks to be told whenever a
/// kubelet begins to listen (the inotify CREATE of kubelet.sock), which is how it notices a restart
/// and registers again. Nothing is missed: a plugin that starts watching while a kubelet listens is
/// told so.
class KubeletSocket {
 public:
  virtual ~KubeletSocket() = default;

  /// Held while listening or watching; dropping it ends that.
  class Handle {
   public:
    virtual ~Handle() = default;
  };

  /// `server` must outlive the handle. A later listener takes over, as a re-created socket file
  /// does.
  virtual Result<std::unique_ptr<Handle>> listen(Registration& server) = 0;
  /// `on_listening` runs as a later task, each time a kubelet begins to listen.
  virtual std::unique_ptr<Handle> watch(std::function<void()> on_listening) = 0;
  /// Sends a request to whoever listens when it arrives; Unavailable if nobody does.
  virtual void register_plugin(RegisterRequest request, Done<void> done) = 0;
};

} // namespace berth::deviceplugin
