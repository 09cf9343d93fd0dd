// How often a question may be asked: a bucket of tokens that fills steadily. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "berth/base/time.h"

namespace berth::node {

/// Begins full.
class RateLimit {
 public:
  RateLimit(std::int64_t per_second, std::int64_t burst)
      : cost_(Duration::seconds(1) / per_second), most_(cost_ * burst), credit_(most_) {}

  /// Whether one more is allowed now; times must not go back.
  bool take(TimePoint now) {
    const Duration since = now - last_.value_or(now);
    credit_ = since >= most_ ? most_ : std::min(most_, credit_ + since);
    last_ = now;
    if (credit_ < cost_) {
      return false;
    }
    credit_ = credit_ - cost_;
    return true;
  }

 private:
  Duration cost_;
  Duration most_;
  Duration credit_;
  std::optional<TimePoint> last_;
};

} // namespace berth::node
