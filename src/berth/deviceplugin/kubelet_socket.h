// Where plugins and the kubelet of one machine meet: the in-process form of the directory
// /var/lib/kubelet/device-plugins with its kubelet.sock.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/loop.h"
#include "berth/deviceplugin/contract.h"

namespace berth::deviceplugin {

/// Outlives both sides. A kubelet listens while it lives; a plugin asks to be told whenever a
/// kubelet begins to listen (the inotify CREATE of kubelet.sock), which is how it notices a restart
/// and registers again. Nothing is missed: a plugin that starts watching while a kubelet listens is
/// told so.
class KubeletSocket {
 public:
  explicit KubeletSocket(Loop& loop);
  ~KubeletSocket();
  KubeletSocket(const KubeletSocket&) = delete;
  KubeletSocket& operator=(const KubeletSocket&) = delete;

  /// Held while listening or watching; dropping it ends that.
  class Handle {
   public:
    virtual ~Handle() = default;
  };

  /// `server` must outlive the handle. A later listener takes over, as a re-created socket file
  /// does.
  std::unique_ptr<Handle> listen(Registration& server);
  /// `on_listening` runs as a later task, each time a kubelet begins to listen.
  std::unique_ptr<Handle> watch(std::function<void()> on_listening);
  /// Sends a request to whoever listens when it arrives; Unavailable if nobody does.
  void register_plugin(RegisterRequest request, Done<void> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::deviceplugin
