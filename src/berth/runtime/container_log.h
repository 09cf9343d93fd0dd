// What a simulated container prints: a few plain lines about its own life. They follow from what
// is known of the container, so that nothing is kept and the same container says the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/runtime/facts.h"
#include "berth/runtime/runtime.h"

namespace berth::runtime {

struct LogLine {
  TimePoint at;
  std::string text; ///< without a line break

  bool operator==(const LogLine&) const = default;
};

/// SIGTERM as it came to a container.
struct AskedToStop {
  TimePoint at;
  Duration grace; ///< until SIGKILL
};

struct LoggedContainer {
  const ContainerStatus& status;
  const ContainerConfig& config;
  const ContainerFacts& facts;
  Duration run_for; ///< Duration::max(): until it is stopped
  std::optional<AskedToStop> asked_to_stop;
};

/// Oldest first; empty before the container starts. O(environment + devices).
std::vector<LogLine> log_of(const LoggedContainer& container);

} // namespace berth::runtime
