// Writing a volume's files so that a reader sees all of the old ones or all of the new: they lie in
// a folder of their own, "..data" links to it, what a container opens links through "..data". An
// update makes a new folder and turns the one link. Layout: kubelet pkg/volume/util/atomic_writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/node/volumes/payload.h"

namespace berth::node {

struct WriteOrder {
  std::string folder; ///< the volume's; made if it is not there
  Payload files;
  std::optional<std::int64_t> group; ///< fsGroup: owns the files and may read them
  TimePoint now;                     ///< names the new folder
};

enum class Written { Changed, Unchanged };

/// Error: what could not be made or written, and why; the old files then stay as they were.
Result<Written> write_atomically(const WriteOrder& order);

} // namespace berth::node
