// Where a kubelet and those who work with it meet on disk: the layout of /var/lib/kubelet.
#pragma once

#include <string>
#include <string_view>

namespace berth::deviceplugin {

inline constexpr std::string_view kKubeletRoot = "/var/lib/kubelet";
inline constexpr std::string_view kKubeletSocketName = "kubelet.sock";

/// Device plugins' sockets, the kubelet's beside them, and its checkpoint.
inline std::string device_plugins_directory(std::string_view root) {
  return std::string(root) + "/device-plugins";
}
/// Registration sockets of plugins of any type.
inline std::string plugins_registry_directory(std::string_view root) {
  return std::string(root) + "/plugins_registry";
}
inline std::string pod_resources_socket(std::string_view root) {
  return std::string(root) + "/pod-resources/" + std::string(kKubeletSocketName);
}

} // namespace berth::deviceplugin
