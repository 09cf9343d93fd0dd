// Volumes of kind emptyDir: a folder that lives as long as the pod, on the disk or in memory. Rule:
// kubelet pkg/volume/emptydir.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/api/json.h"
#include "berth/base/result.h"

namespace berth::node {

struct EmptyDir {
  enum class Medium { Disk, Memory, HugePages } medium = Medium::Disk;
  std::string page_size; ///< of huge pages, "2Mi"; "": the only size that the pod asks for
  std::optional<std::int64_t> size_bytes; ///< of memory it is the most that can be written
  std::optional<std::int64_t> group;      ///< fsGroup
};

/// `source` is the volume's `emptyDir`. Error Invalid: a medium that is not known here.
Result<EmptyDir> read_empty_dir(const api::json::value& source,
                                std::optional<std::int64_t> fs_group);

/// What was set up, and what its pod's owner should know about it ("" for nothing).
struct SetUp {
  std::string warning;
};

/// What is there already stays with all in it: the pod has begun to use it.
Result<SetUp> set_up_empty_dir(const std::string& path, const EmptyDir& wanted);

} // namespace berth::node
