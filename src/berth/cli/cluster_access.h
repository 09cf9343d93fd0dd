// The cluster of somebody else that a process works for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/cli/command.h"
#include "berth/client/kubeconfig.h"

namespace berth::cli {

inline constexpr std::string_view kKubeconfigHelp =
    "how to reach the cluster; else $KUBECONFIG, ~/.kube/config, or the service account of the pod "
    "that this runs in";

/// `kubeconfig_help`: of --kubeconfig, where its fallback is another.
std::vector<Flag> cluster_access_flags(std::string_view kubeconfig_help = kKubeconfigHelp);

/// What the kubeconfig says, at the address of --api if that is given. `kubeconfig`: the file if
/// --kubeconfig names none. Error BadRequest names the flag; others are load_access's.
Result<client::ServerAccess> cluster_access(const Values& values,
                                            const std::string& kubeconfig = "");

} // namespace berth::cli
