// Which volumes a container wants where: its volumeMounts, read and checked. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/node/container_env.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

struct MountWish {
  std::string volume;
  std::string container_path;
  std::string sub_path; ///< "": the whole volume
  bool read_only = false;
  runtime::Mount::Propagation propagation = runtime::Mount::Propagation::Private;
  std::size_t index = 0; ///< among the container's mounts
};

/// `env` is what subPathExpr may refer to. Error Invalid: it refers to something else, or the
/// sub-path is no path below a volume.
Result<std::vector<MountWish>> mount_wishes(const api::json::value& container,
                                            const Environment& env);

} // namespace berth::node
