// Volumes of kind hostPath: what the machine has at a path, checked and perhaps made first. Rule
// and texts: kubelet pkg/volume/hostpath.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth::node {

/// `type` as the volume says it: "", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
/// "Socket", "CharDevice" or "BlockDevice".
Result<void> check_host_path(const std::string& path, std::string_view type);

} // namespace berth::node
