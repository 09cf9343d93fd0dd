// How long to wait before what failed again and again is tried again: doubling from a first wait to
// a longest one, and forgotten after twice the longest without a failure. Source: client-go
// util/flowcontrol Backoff.
#pragma once

#include <map>
#include <string>

#include "berth/base/time.h"

namespace berth::controllers {

class FailureBackoff {
 public:
  FailureBackoff(Duration first, Duration longest) : first_(first), longest_(longest) {}

  /// When the next try is due; in the past if at once.
  TimePoint due(const std::string& key) const;
  void failed(const std::string& key, TimePoint now);
  /// Drops what has not failed for long. O(keys).
  void sweep(TimePoint now);

 private:
  struct Entry {
    Duration wait;
    TimePoint since;
  };
  Duration first_;
  Duration longest_;
  std::map<std::string, Entry> entries_;
};

} // namespace berth::controllers
