// Exponential backoff as a value: client-go's reflector waits 800 ms, doubling up to 30 s, and
// starts over after a quiet while. Without jitter: turns of one Loop are ordered anyway and runs
// must repeat.
#pragma once

#include <algorithm>

#include "berth/base/time.h"

namespace berth::client {

class Backoff {
 public:
  struct Options {
    Duration first = Duration::millis(800);
    Duration longest = Duration::seconds(30);
    Duration reset_after = Duration::minutes(2);
  };

  Backoff() = default;
  explicit Backoff(Options options) : options_(options) {}

  /// How long to wait before the next attempt, asked at `now`.
  Duration next(TimePoint now) {
    if (!asked_ || now - last_ > options_.reset_after) {
      step_ = options_.first;
    }
    asked_ = true;
    const Duration delay = step_;
    step_ = std::min(step_ * 2, options_.longest);
    last_ = now + delay;
    return delay;
  }

 private:
  Options options_ = {};
  Duration step_;
  TimePoint last_; ///< when the last attempt was due
  bool asked_ = false;
};

} // namespace berth::client
