// Events that happened while pods were being decided, so that a pod that comes back rejected is
// shown those it missed (spec 1.5). Empty while nothing is in flight.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <string>

#include "berth/sched/event.h"

namespace berth::sched {

/// Memory: the events since the oldest open flight.
class EventLog {
 public:
  struct Entry {
    ClusterEvent event;
    std::string except; ///< uid it says nothing to
  };
  /// Number of the first event a flight has not seen.
  using Flight = std::uint64_t;

  Flight open();
  /// Ends a flight; events nobody needs any more are dropped. Precondition: open, not closed
  /// before.
  void close(Flight flight);
  /// Remembers the event if anybody is in flight.
  void record(const ClusterEvent& event, std::string_view except);
  /// Calls `visit` for each event since the flight began, in order, until it returns false.
  template <class Visit> void replay(Flight flight, Visit visit) const {
    for (std::uint64_t number = std::max(flight, first_); number < next_; ++number) {
      if (!visit(entries_[static_cast<std::size_t>(number - first_)])) {
        return;
      }
    }
  }
  std::size_t size() const { return entries_.size(); }

 private:
  std::multiset<Flight> flights_;
  std::deque<Entry> entries_; // numbers first_ .. next_ - 1
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
};

} // namespace berth::sched
