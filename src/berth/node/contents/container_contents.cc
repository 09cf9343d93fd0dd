#include "berth/node/contents/container_contents.h"

#include <algorithm>
#include <utility>

#include "berth/node/contents/hosts_file.h"
#include "berth/node/contents/security.h"
#include "berth/node/contents/spec_field.h"

namespace berth::node {

void apply_contents(const ContainerContents& contents, const api::json::value& container,
                    runtime::ContainerConfig& config) {
  if (!contents.image.empty()) {
    config.image = contents.image;
  }
  config.resources = contents.resources;
  config.security = contents.security;
  config.log_path = contents.log_path;
  config.working_dir = api::string_at(container, "workingDir");
  config.tty = bool_at(container, "tty").value_or(false);
  config.stdin_open = bool_at(container, "stdin").value_or(false);
  config.stdin_once = bool_at(container, "stdinOnce").value_or(false);
}

namespace {

/// Ports of the machine that lead to the pod.
std::vector<runtime::PortMapping> port_mappings(const api::json::value& pod) {
  using Protocol = runtime::PortMapping::Protocol;
  std::vector<runtime::PortMapping> ports;
  for (const api::json::value& container : list_at(pod, "spec.containers")) {
    for (const api::json::value& port : list_at(container, "ports")) {
      const std::string_view protocol = api::string_at(port, "protocol");
      const std::int64_t host = int_at(port, "hostPort").value_or(0);
      if (host > 0) {
        ports.push_back(
            {.protocol = protocol == "UDP"    ? Protocol::Udp
                         : protocol == "SCTP" ? Protocol::Sctp
                                              : Protocol::Tcp,
             .container_port = static_cast<std::int32_t>(int_at(port, "containerPort").value_or(0)),
             .host_port = static_cast<std::int32_t>(host),
             .host_ip = std::string(api::string_at(port, "hostIP"))});
      }
    }
  }
  return ports;
}

} // namespace

Result<void> complete_sandbox(const api::json::value& pod, std::string_view kubelet_root,
                              std::string log_folder, runtime::SandboxConfig& config) {
  config.host_pid = bool_at(pod, "spec.hostPID").value_or(false);
  config.host_ipc = bool_at(pod, "spec.hostIPC").value_or(false);
  config.share_process_namespace = bool_at(pod, "spec.shareProcessNamespace").value_or(false);
  config.hostname = config.host_network ? "" : hostname_of(pod);
  config.log_directory = std::move(log_folder);
  BERTH_TRY(config.security, sandbox_security(pod, kubelet_root));
  for (const api::json::value& sysctl : list_at(pod, "spec.securityContext.sysctls")) {
    std::string name(api::string_at(sysctl, "name"));
    std::ranges::replace(name, '/', '.');
    config.sysctls[name] = api::string_at(sysctl, "value");
  }
  if (!config.host_network) {
    config.ports = port_mappings(pod);
  }
  return {};
}

} // namespace berth::node
