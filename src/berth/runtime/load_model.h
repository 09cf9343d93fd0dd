// How much a simulated container uses: CPU, memory and, of each of its GPUs, the part of time and
// of memory. A function of who the container is, what it asks for and the time, so that the same
// container is seen to use the same by whoever asks. Measured every 15 s, as metrics-server does.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/base/time.h"
#include "berth/model/pod.h"

namespace berth::runtime {

inline constexpr Duration kLoadWindow = Duration::seconds(15);

struct LoadSubject {
  std::string_view pod_uid;
  std::string_view container;
  const model::ResourceRequirements& resources;
  int gpus = 0; ///< that it holds
  TimePoint started_at;
};

struct Load {
  std::int64_t cpu_nanocores = 0;
  std::int64_t memory_bytes = 0;
  int gpu_percent = 0;        ///< of the time, of each of its GPUs
  int gpu_memory_percent = 0; ///< of each GPU's memory
};

/// When what is known at `now` was measured.
TimePoint measured_at(TimePoint now);

/// Half to nine tenths of what it asks for, never more than its limits; what asks for nothing uses
/// little. Memory fills in the first minute. O(1).
Load load_of(const LoadSubject& subject, TimePoint now);

/// What a node's own processes use.
Load system_load(std::string_view node, TimePoint now);

} // namespace berth::runtime
