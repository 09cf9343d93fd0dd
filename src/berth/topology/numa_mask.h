// A set of NUMA nodes, as Linux numbers them. Order and names as in the kubelet's bitmask.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace berth::topology {

/// Nodes 0 to 63; a value of one word.
class NumaMask {
 public:
  static constexpr int kMostNodes = 64;

  constexpr NumaMask() = default;
  constexpr explicit NumaMask(std::uint64_t bits) : bits_(bits) {}
  /// Ids outside 0..63 are left out.
  static NumaMask of(const std::vector<int>& ids);
  static constexpr NumaMask single(int id) { return NumaMask(std::uint64_t{1} << id); }

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int count() const { return std::popcount(bits_); }
  constexpr bool has(int id) const { return id >= 0 && id < kMostNodes && ((bits_ >> id) & 1U); }
  constexpr bool contains(NumaMask other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool meets(NumaMask other) const { return (bits_ & other.bits_) != 0; }
  /// Fewer nodes; of as many, the numerically lower.
  constexpr bool narrower_than(NumaMask other) const {
    return count() != other.count() ? count() < other.count() : bits_ < other.bits_;
  }
  /// Ascending.
  std::vector<int> ids() const;
  /// As Linux lists nodes: "0-1,4"; "" for none.
  std::string to_string() const;

  friend constexpr NumaMask operator&(NumaMask a, NumaMask b) {
    return NumaMask(a.bits_ & b.bits_);
  }
  friend constexpr NumaMask operator|(NumaMask a, NumaMask b) {
    return NumaMask(a.bits_ | b.bits_);
  }
  constexpr auto operator<=>(const NumaMask&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

} // namespace berth::topology
