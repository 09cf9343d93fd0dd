// What every Prometheus client tells of its process: process_cpu_seconds_total and the like.
// Source: Linux' /proc/self.
#pragma once

#include <string>

#include "berth/base/time.h"

namespace berth::cli {

/// In Prometheus' text format; what the system does not tell is left out.
std::string process_metrics(TimePoint started);

} // namespace berth::cli
