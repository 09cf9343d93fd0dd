// Events live for an hour after their last write, as kube-apiserver's --event-ttl has it. Without a
// timer: the writes of new events pay for taking out old ones. What an earlier process left, or
// another one writes to the same store, is found by a look at all events once a ttl.
#pragma once

#include <deque>
#include <optional>

#include "berth/base/time.h"
#include "berth/store/store.h"

namespace berth::store {

/// O(log events) amortised per event written.
class EventExpiry {
 public:
  explicit EventExpiry(Duration ttl) : ttl_(ttl) {}

  /// Remembers a written Event and removes those that were last written more than the ttl ago.
  void written(Store& store, const api::Object& event, TimePoint now);

 private:
  struct Written {
    TimePoint at;
    api::Key key;
    std::uint64_t resource_version;
  };

  void look(const Store& store, TimePoint now);

  Duration ttl_;
  std::deque<Written> written_;
  std::optional<TimePoint> looked_;
};

} // namespace berth::store
