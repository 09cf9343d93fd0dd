// Which slot holds the pod of a uid: a hash table that keeps no uids of its own, since the pods in
// the slots have them. Every pod that is placed or goes is looked for here, so it neither allocates
// for a pod nor copies its uid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/text_map.h"
#include "berth/sched/ids.h"

namespace berth::sched {

/// Open addressing with linear probing, at most three quarters full. Expected O(1). `uid_of(slot)`
/// is the uid of the pod in a slot that was inserted.
class UidIndex {
 public:
  std::size_t size() const { return size_; }

  template <class UidOf>
  std::optional<PodSlot> find(std::string_view uid, const UidOf& uid_of) const {
    if (size_ == 0) {
      return std::nullopt;
    }
    const std::uint32_t hash = hash_of(uid);
    for (std::size_t at = home(hash); entries_[at].slot.valid(); at = next(at)) {
      if (entries_[at].hash == hash && uid_of(entries_[at].slot) == uid) {
        return entries_[at].slot;
      }
    }
    return std::nullopt;
  }

  /// False, and nothing is changed, if the uid is here already.
  template <class UidOf> bool insert(std::string_view uid, PodSlot slot, const UidOf& uid_of) {
    if (4 * (size_ + 1) > 3 * entries_.size()) {
      grow();
    }
    const std::uint32_t hash = hash_of(uid);
    std::size_t at = home(hash);
    for (; entries_[at].slot.valid(); at = next(at)) {
      if (entries_[at].hash == hash && uid_of(entries_[at].slot) == uid) {
        return false;
      }
    }
    entries_[at] = {.hash = hash, .slot = slot};
    ++size_;
    return true;
  }

  /// Precondition: inserted with that uid.
  void erase(std::string_view uid, PodSlot slot) {
    std::size_t hole = home(hash_of(uid));
    while (entries_[hole].slot != slot) {
      hole = next(hole);
    }
    // Whoever was pushed beyond the hole moves up, so that no search ends too early.
    for (std::size_t at = next(hole); entries_[at].slot.valid(); at = next(at)) {
      const std::size_t pushed = (at - home(entries_[at].hash)) & (entries_.size() - 1);
      if (pushed >= ((at - hole) & (entries_.size() - 1))) {
        entries_[hole] = entries_[at];
        hole = at;
      }
    }
    entries_[hole] = {};
    --size_;
  }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    PodSlot slot; ///< invalid: the entry is free
  };

  static std::uint32_t hash_of(std::string_view uid) {
    return static_cast<std::uint32_t>(TextHash()(uid));
  }
  std::size_t home(std::uint32_t hash) const { return hash & (entries_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (entries_.size() - 1); }

  void grow() {
    constexpr std::size_t kFewest = 16;
    const std::vector<Entry> before = std::exchange(
        entries_, std::vector<Entry>(entries_.empty() ? kFewest : 2 * entries_.size()));
    for (const Entry& entry : before) {
      if (entry.slot.valid()) {
        std::size_t at = home(entry.hash);
        while (entries_[at].slot.valid()) {
          at = next(at);
        }
        entries_[at] = entry;
      }
    }
  }

  std::vector<Entry> entries_; ///< their number is a power of two
  std::size_t size_ = 0;
};

} // namespace berth::sched
