// CRI v1 messages and the runtime's values. Pure.
#pragma once

#include <map>
#include <string>

#include "berth/runtime/runtime.h"
#include "runtime/cri/cri.pb.h"

namespace berth::runtime::cri {

namespace pb = ::runtime::v1;

/// Sandbox annotations that the agent needs again after a restart and that CRI's answers do not
/// have.
inline constexpr std::string_view kLogDirectoryAnnotation = "berth.dev/log-directory";
inline constexpr std::string_view kHostNamespacesAnnotation = "berth.dev/host-namespaces";

pb::PodSandboxConfig to_message(const SandboxConfig& config);
pb::ContainerConfig to_message(const ContainerConfig& config, const SandboxConfig& sandbox);

/// What can be known again of a sandbox's configuration from its status.
SandboxConfig config_of(const SandboxStatus& status);

SandboxStatus to_status(const pb::PodSandboxStatus& status);
/// Path of a sandbox's network namespace, from what containerd and CRI-O tell of one if they are
/// asked to be verbose; "": they do not say.
std::string network_namespace(const pb::PodSandboxStatusResponse& verbose);
/// What a container's own status does not say.
struct ContainerContext {
  std::string runtime;
  std::string sandbox_id;
};
ContainerStatus to_status(const pb::ContainerStatus& status, const ContainerContext& context);
ContainerState to_state(pb::ContainerState state);

} // namespace berth::runtime::cri
