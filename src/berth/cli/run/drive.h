// Turning the Loop until a run is over: at once in virtual time, by the clock in real time.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/loop.h"
#include "berth/base/time.h"
#include "berth/cli/run/options.h"
#include "berth/report/run_report.h"

namespace berth::net {
class AsioLoop;
}

namespace berth::cli {

/// Where virtual runs begin, so that equal runs are equal bytes: 2026-01-01T00:00:00Z.
TimePoint virtual_start();

/// A Loop that can be turned from outside.
class Drive {
 public:
  virtual ~Drive() = default;
  virtual Loop& loop() = 0;
  /// The loop that sockets can live on; null in virtual time.
  virtual net::AsioLoop* sockets() = 0;
  /// Runs until `done` says so (Settled), the loop's clock passes `end` (TimeUp) or the user
  /// interrupts. `done` is asked between events, in virtual time only where the clock is about to
  /// move.
  virtual report::Outcome run(const std::function<bool()>& done, TimePoint end) = 0;
};

std::unique_ptr<Drive> make_drive(Speed speed);

} // namespace berth::cli
