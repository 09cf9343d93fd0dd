// Sets of completion indexes in the text form of status.completedIndexes and status.failedIndexes:
// "0,2,3,5-9". Form: batch/v1 JobStatus; two neighbours are written "2,3", three or more "2-4".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::controllers {

/// Invariant: intervals are sorted, disjoint and not adjacent. contains() is O(log n), insert()
/// O(n) in intervals.
class IndexSet {
 public:
  IndexSet() = default;
  /// Reads the text form. What is not understood, or lies at or above `limit`, is left out: a
  /// status that a user has damaged must not stop the controller.
  static IndexSet parse(std::string_view text, std::int64_t limit);

  void insert(std::int64_t index);
  bool contains(std::int64_t index) const;
  std::int64_t size() const;
  bool empty() const { return intervals_.empty(); }
  std::string to_string() const;

  bool operator==(const IndexSet&) const = default;

 private:
  struct Interval {
    std::int64_t first = 0;
    std::int64_t last = 0; ///< included
    bool operator==(const Interval&) const = default;
  };

  void insert_interval(Interval added);
  std::vector<Interval> intervals_;
};

} // namespace berth::controllers
