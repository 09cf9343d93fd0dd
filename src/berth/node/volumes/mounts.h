// Mounting on a real machine: tmpfs for emptyDir in memory, bind mounts for sub-paths, and taking
// away all that is mounted below a folder before it is removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"

namespace berth::node {

/// Error Forbidden: this process may not mount.
Result<void> mount_tmpfs(const std::string& path, std::optional<std::int64_t> size_bytes);
/// Files in huge pages of a size such as "2Mi". Errors: Forbidden as above, Invalid: the kernel has
/// none of that size.
Result<void> mount_hugepages(const std::string& path, std::string_view page_size);
/// Shows what `fd` is open on (a file or a folder) at `target` too.
Result<void> bind_mount(int fd, const std::string& target);

/// Mount points at or below a folder, deepest first, from the text of /proc/self/mountinfo.
std::vector<std::string> mount_points_below(std::string_view mountinfo, std::string_view folder);
/// Whether something is mounted exactly there.
bool is_mount_point(const std::string& path);
/// Unmounts everything at or below the folder.
Result<void> unmount_below(const std::string& folder);

} // namespace berth::node
