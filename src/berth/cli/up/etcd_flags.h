// The flags of `--store etcd`, named as kube-apiserver names them.
#pragma once

#include <optional>
#include <vector>

#include "berth/cli/command.h"
#include "berth/etcd/etcd_store.h"

namespace berth::cli {

std::vector<Flag> etcd_flags();

/// None: objects are kept elsewhere. Reads the files that flags name. Errors name the flag: one
/// that has no effect, a value that is not of its form, a file that cannot be read or used.
Result<std::optional<etcd::EtcdOptions>> etcd_options(const Values& values);

} // namespace berth::cli
