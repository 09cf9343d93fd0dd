// The kubelet's directory of device plugins on disk, /var/lib/kubelet/device-plugins: where any
// kubelet meets any plugin, over sockets in gRPC. Rules of the device plugin API v1beta1.
#pragma once

#include <memory>
#include <string>

#include "berth/deviceplugin/kubelet_socket.h"
#include "berth/deviceplugin/wire/directory_patrol.h"
#include "berth/deviceplugin/wire/kubelet_paths.h"
#include "berth/deviceplugin/wire/limits.h"
#include "berth/net/asio_loop.h"

namespace berth::deviceplugin {

struct KubeletDirectoryOptions {
  std::string directory = device_plugins_directory(kKubeletRoot);
  WireLimits limits = {};
  PatrolTimes patrol = {};
};

/// A process uses one side of it, or both. For plugins: who registers is served on a socket of its
/// own in the directory, anew at each registration, until it ends. A watcher is told of a kubelet
/// when kubelet.sock appears, when a plugin's own socket was deleted, and when a kubelet that took
/// a plugin has stopped listening to it; a directory that is not there yet is waited for. The loop
/// must outlive it.
class KubeletDirectory final : public KubeletSocket {
 public:
  KubeletDirectory(net::AsioLoop& loop, KubeletDirectoryOptions options);
  ~KubeletDirectory() override;
  KubeletDirectory(const KubeletDirectory&) = delete;
  KubeletDirectory& operator=(const KubeletDirectory&) = delete;

  /// Begins as a kubelet does: every socket in the directory is deleted.
  Result<std::unique_ptr<Handle>> listen(Registration& server) override;
  std::unique_ptr<Handle> watch(std::function<void()> on_listening) override;
  /// Errors beside the kubelet's own: Unavailable (there is no kubelet.sock), Timeout (it does not
  /// answer), and the reasons why the plugin's socket cannot be made.
  void register_plugin(RegisterRequest request, Done<void> done) override;

 private:
  struct PluginSide;
  net::AsioLoop* loop_;
  KubeletDirectoryOptions options_;
  std::shared_ptr<PluginSide> plugins_;
};

} // namespace berth::deviceplugin
