// What this machine as a whole uses, as Linux tells it below /proc, and how full its disk is: the
// node's own numbers in what a kubelet says. Definitions are cAdvisor's of the root control group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/runtime/runtime.h"

namespace berth::kubelet {

struct MachineSource {
  std::string procfs = "/proc";
  std::string disk = "/var/lib/kubelet"; ///< on the file system that pods are kept on
};

struct DiskUsage {
  std::int64_t capacity_bytes = 0;
  std::int64_t available_bytes = 0; ///< to everybody
  std::int64_t used_bytes = 0;
  std::int64_t inodes = 0;
  std::int64_t inodes_free = 0;
};

/// What cannot be read is not told.
struct MachineUsage {
  runtime::Usage usage; ///< memory: what is neither free nor an inactive part of the page cache
  std::optional<std::int64_t> memory_available_bytes; ///< the rest
  std::optional<DiskUsage> disk;
  std::optional<TimePoint> booted_at;
};

/// Reads a few small files.
MachineUsage read_machine_usage(const MachineSource& source, TimePoint now);

} // namespace berth::kubelet
