// How much of a disk a folder takes.
#pragma once

#include <cstdint>
#include <string>

#include "berth/base/result.h"

namespace berth::node {

/// Bytes of all files below it, each file once however often it is linked, as du counts them.
/// Follows no link and goes into no other file system. Files that go meanwhile count as gone. Error
/// NotFound: there is no such folder. O(files).
Result<std::int64_t> folder_usage(const std::string& path);

} // namespace berth::node
