// A part of a volume mounted in place of the whole (subPath). What a container may have put into
// its volume must not lead out of it: the way is walked by the kernel with links kept inside
// (openat2, RESOLVE_BENEATH), and what it ends at is mounted, not the path that led there. Rule:
// kubelet pkg/volume/util/subpath.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth::node {

struct SubPathOrder {
  std::string volume;   ///< where it is on this machine
  std::string sub_path; ///< below it; a folder is made there if nothing is
  std::string target;   ///< where to show it
};

/// Gives the path to mount into the container: `target`, or, where this process may not mount,
/// what the way ends at. Error Invalid: the path leaves the volume.
Result<std::string> set_up_sub_path(const SubPathOrder& order);

} // namespace berth::node
