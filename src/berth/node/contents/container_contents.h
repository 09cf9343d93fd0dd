// What a container of a real machine is made of beyond its devices, ready to be given to the
// runtime, and what its sandbox is.
#pragma once

#include <string>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/model/pod.h"
#include "berth/node/container_env.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

struct ContainerContents {
  std::string image; ///< its id, or its name where the runtime gives none
  Environment env;
  std::vector<runtime::Mount> mounts;
  runtime::Resources resources;
  runtime::SecurityContext security;
  std::string log_path; ///< below the pod's log folder
};

/// Everything but the environment and the mounts, whose order against the devices' is
/// make_container_config's business. `container` is the document.
void apply_contents(const ContainerContents& contents, const api::json::value& container,
                    runtime::ContainerConfig& config);

/// Adds to a pod's sandbox what its document says of the host's namespaces, names and security.
Result<void> complete_sandbox(const api::json::value& pod, std::string_view kubelet_root,
                              std::string log_folder, runtime::SandboxConfig& config);

} // namespace berth::node
