// The subsets of a given size of a set of GPUs, in ascending order as numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>

#include "berth/hardware/gpu_mask.h"

namespace berth::hardware {

/// `for (GpuMask subset : Combinations(set, k))`: every subset of `set` with `k` members, C(|set|,
/// k) of them; none for k outside [0, |set|].
class Combinations {
 public:
  Combinations(GpuMask set, int k) : set_(set), k_(k) {}

  class Iterator {
   public:
    using value_type = GpuMask;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(GpuMask set, std::uint64_t bits) : set_(set), bits_(bits) {}

    /// Bit i of the compact number stands for the i-th member of the set; the order is kept.
    GpuMask operator*() const {
      if ((set_ & (set_ + 1)) == 0) {
        return static_cast<GpuMask>(bits_); // the set is 0..n-1
      }
      GpuMask result = 0;
      GpuMask places = set_;
      for (std::uint64_t bits = bits_; bits != 0; bits >>= 1, places &= places - 1) {
        result |= (bits & 1) != 0 ? places & -places : 0;
      }
      return result;
    }
    /// The next greater number with as many bits (Gosper); the empty subset is the only one of its
    /// size.
    Iterator& operator++() {
      if (bits_ == 0) {
        bits_ = end_bits(set_);
        return *this;
      }
      const std::uint64_t lowest = bits_ & -bits_;
      const std::uint64_t ripple = bits_ + lowest;
      bits_ = ripple | (((bits_ ^ ripple) >> 2) / lowest);
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;
    bool operator==(std::default_sentinel_t) const { return bits_ >= end_bits(set_); }

   private:
    static std::uint64_t end_bits(GpuMask set) { return std::uint64_t{1} << std::popcount(set); }

    GpuMask set_ = 0;
    std::uint64_t bits_ = 0;
  };

  Iterator begin() const {
    const bool none = k_ < 0 || k_ > std::popcount(set_);
    return {set_, none ? std::uint64_t{1} << std::popcount(set_) : (std::uint64_t{1} << k_) - 1};
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  GpuMask set_;
  int k_;
};

} // namespace berth::hardware
