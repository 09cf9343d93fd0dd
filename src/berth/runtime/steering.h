// How a pod's annotations steer a simulated container: how long it runs, how it ends, how it takes
// SIGTERM.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/api/object.h"
#include "berth/base/time.h"

namespace berth::runtime {

/// What one attempt of one container will do. A malformed annotation counts as absent: it is a
/// user's hint.
struct Steering {
  Duration run_for;    ///< Duration::max(): until stopped
  int exit_code = 0;   ///< at the end of the run
  Duration stop_takes; ///< Duration::max(): SIGTERM is ignored
};

struct SteeringDefaults {
  Duration run_for;
  Duration init_runs_for;
  Duration stop_takes;
};

struct Attempt {
  std::string_view container;
  std::string_view role; ///< "init", "sidecar" or "app"
  std::uint32_t number = 0;
};

Steering steering_of(const api::Labels& pod_annotations, const Attempt& attempt,
                     const SteeringDefaults& defaults);

} // namespace berth::runtime
