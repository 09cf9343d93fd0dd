// Writing a file so that a reader, or a process that dies in between, sees all of the old one or
// all of the new.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth {

/// Writes "FOLDER/.NAME.tmp", syncs it and gives it the file's name. `mode` is the file's, whatever
/// the umask. Errors name the path: NotFound (no such folder), Forbidden (not allowed, or read
/// only), Unavailable.
Result<void> replace_file(const std::string& path, std::string_view bytes, std::uint32_t mode);

} // namespace berth
