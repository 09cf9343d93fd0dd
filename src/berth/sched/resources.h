// Amounts by resource: the common four inline, the rest in a short sorted list. get() costs a load
// for the inline ones and a scan of the node's own extended resources otherwise, however many names
// the cluster knows.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/sched/ids.h"

namespace berth::sched {

/// Invariant: others_ is sorted by id and holds no zero, so that equal amounts are equal values.
class Resources {
 public:
  std::int64_t get(ResourceId id) const {
    if (id.index() < kInlineResources) {
      return inline_[id.index()];
    }
    for (const auto& [other, amount] : others_) {
      if (other == id) {
        return amount;
      }
    }
    return 0;
  }
  /// Saturates at the int64 range.
  void add(ResourceId id, std::int64_t amount) {
    if (id.index() < kInlineResources) {
      inline_[id.index()] = saturating_add(inline_[id.index()], amount);
    } else {
      set(id, saturating_add(get(id), amount));
    }
  }
  void set(ResourceId id, std::int64_t amount);

  const std::array<std::int64_t, kInlineResources>& common() const { return inline_; }
  const std::vector<std::pair<ResourceId, std::int64_t>>& others() const { return others_; }
  bool operator==(const Resources&) const = default;

 private:
  static std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
      return b > 0 ? INT64_MAX : INT64_MIN;
    }
    return sum;
  }

  std::array<std::int64_t, kInlineResources> inline_{};
  std::vector<std::pair<ResourceId, std::int64_t>> others_;
};

} // namespace berth::sched
