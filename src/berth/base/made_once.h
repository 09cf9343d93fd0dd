// What is made when it is first asked for, by whichever thread that is: for values that are shared
// and do not change otherwise.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace berth {

/// One value. Neither copied nor moved.
template <class T> class MadeOnce {
 public:
  /// Others who ask meanwhile wait for it.
  template <class Make> const T& get(Make make) const {
    std::call_once(made_, [&] { value_ = make(); });
    return value_;
  }

 private:
  mutable std::once_flag made_;
  mutable T value_{};
};

/// Values of several types, each in a slot that an address names; few of them. Nobody waits: of
/// several who make one at once all are given the first.
class MadeSlots {
 public:
  MadeSlots() = default;
  ~MadeSlots() {
    for (const Entry* entry = newest_.load(std::memory_order_acquire); entry != nullptr;) {
      const std::unique_ptr<const Entry> gone(std::exchange(entry, entry->next));
    }
  }
  MadeSlots(const MadeSlots&) = delete;
  MadeSlots& operator=(const MadeSlots&) = delete;

  /// null if there is none yet.
  std::shared_ptr<const void> find(const void* slot) const {
    const Entry* entry = find(newest_.load(std::memory_order_acquire), nullptr, slot);
    return entry == nullptr ? nullptr : entry->value;
  }
  /// The value that stays: this one, or one that was there before.
  std::shared_ptr<const void> keep(const void* slot, std::shared_ptr<const void> value) {
    auto mine = std::make_unique<Entry>(Entry{.slot = slot, .value = std::move(value)});
    const Entry* looked_at = nullptr;
    const Entry* newest = newest_.load(std::memory_order_acquire);
    do {
      if (const Entry* theirs = find(newest, looked_at, slot)) {
        return theirs->value;
      }
      looked_at = newest;
      mine->next = newest;
    } while (!newest_.compare_exchange_weak(newest, mine.get(), std::memory_order_acq_rel));
    return mine.release()->value;
  }

 private:
  /// Once in the list it stays as it is, so that readers need no lock.
  struct Entry {
    const void* slot;
    std::shared_ptr<const void> value;
    const Entry* next = nullptr;
  };

  /// Of the list from `first` to before `end`.
  static const Entry* find(const Entry* first, const Entry* end, const void* slot) {
    while (first != end && first->slot != slot) {
      first = first->next;
    }
    return first == end ? nullptr : first;
  }

  std::atomic<const Entry*> newest_ = nullptr;
};

} // namespace berth
