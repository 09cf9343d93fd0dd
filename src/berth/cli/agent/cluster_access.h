// The cluster that an agent is a node of.
#pragma once

#include <vector>

#include "berth/cli/command.h"
#include "berth/client/kubeconfig.h"

namespace berth::cli {

std::vector<Flag> cluster_access_flags();

/// What the kubeconfig says, at the address of --api if that is given. Error BadRequest names the
/// flag; others are load_access's.
Result<client::ServerAccess> cluster_access(const Values& values);

} // namespace berth::cli
