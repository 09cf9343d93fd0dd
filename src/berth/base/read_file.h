// Reading a whole file that a user named: a file, a pipe or a device, and never more of it than was
// agreed on.
#pragma once

#include <cstddef>
#include <string>

#include "berth/base/result.h"

namespace berth {

/// All bytes, at most `most` of them: a device may have no end. Errors are at the path and say what
/// the system says ("is a directory"): NotFound, Forbidden, Invalid (too large), Unavailable.
Result<std::string> read_file(const std::string& path, std::size_t most);

} // namespace berth
