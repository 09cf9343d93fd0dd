// Whom a container runs as and what it may do: its own security context over its pod's. Pure. Rules
// and texts: kubelet pkg/securitycontext and kuberuntime/security_context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/model/pod.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// `kubelet_root` holds the profiles of seccomp type Localhost, in its folder "seccomp". Error
/// Invalid: the container must not run as root and would (`image_user` is what the image says).
Result<runtime::SecurityContext> container_security(const api::json::value& pod,
                                                    const api::json::value& container,
                                                    const model::Pod& view,
                                                    const runtime::ImageUser& image_user,
                                                    std::string_view kubelet_root);

/// Does its pod or the container itself ask not to be run as root without naming a user? Only then
/// does it matter whom the image names.
bool needs_image_user(const api::json::value& pod, const api::json::value& container);

/// The user that every container of the pod runs as, by its document; none: they differ, or leave
/// it to their images. Rule: kubelet pkg/volume/util.FsUserFrom.
std::optional<std::int64_t> common_user(const api::json::value& pod);

/// Of the sandbox: the pod's own, privileged if any container is.
Result<runtime::SecurityContext> sandbox_security(const api::json::value& pod,
                                                  std::string_view kubelet_root);

} // namespace berth::node
