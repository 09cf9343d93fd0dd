// What parts of a GPU are worth, given which sizes will be asked for. Packing shares into GPUs is
// the cutting-stock problem; the dual of its linear relaxation (Gilmore and Gomory, 1961) prices
// each size so that no way to fill a GPU is worth more than the GPU, and as much as possible is
// earned. A size that leaves a remainder nobody wants is priced as the whole: 810 of 1000 costs
// 1000 where hardly anyone asks for 190.
#pragma once

#include <array>
#include <cstdint>

#include "berth/sched/fragmentation.h"

namespace berth::sched {

/// Prices are in milli of a GPU, sizes in steps of 10 milli. Immutable.
class PartPrices {
 public:
  /// From the shares of one GPU in the target; without any, a part is worth its size. Approximate,
  /// by multiplicative weights: within about 1 % of the dual optimum. O(rounds x sizes x 100).
  explicit PartPrices(const TargetWorkload& target);

  /// The most that can be earned with that much left of a GPU.
  double worth(std::int32_t milli_left) const;
  /// What a share of that size pays.
  double price(std::int32_t milli) const;
  /// What is lost by taking the share from that much left: at least 0. Precondition: it fits.
  double regret(std::int32_t milli_left, std::int32_t milli) const;

 private:
  static constexpr std::size_t kSteps = 100;

  std::array<double, kSteps + 1> worth_{};
  std::array<double, kSteps + 1> price_{}; ///< 0 where nobody asks for the size
};

} // namespace berth::sched
