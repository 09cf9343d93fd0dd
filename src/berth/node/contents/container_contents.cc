#include "berth/node/contents/container_contents.h"

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

Result<void> complete_sandbox(const api::json::value& pod, std::string_view kubelet_root,
                              std::string log_folder, runtime::SandboxConfig& config) {
  config.host_pid = bool_at(pod, "spec.hostPID").value_or(false);
  config.host_ipc = bool_at(pod, "spec.hostIPC").value_or(false);
  config.share_process_namespace = bool_at(pod, "spec.shareProcessNamespace").value_or(false);
  config.hostname = config.host_network ? "" : hostname_of(pod);
  config.log_directory = std::move(log_folder);
  BERTH_TRY(config.security, sandbox_security(pod, kubelet_root));
  return {};
}

} // namespace berth::node
