// Seeded randomness, handed in. The sequence for a seed is part of Berth's contract: same seed,
// same bytes, on every platform (std distributions are not portable, so they are not used).
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace berth {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }
  /// Uniform in [0, n); n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Uniform in [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// True with probability numerator / denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) {
    return below(denominator) < numerator;
  }
  /// A version 4 UUID in text form.
  std::string uuid();
  /// `n` characters of Kubernetes' name suffix alphabet ("bcdfghjklmnpqrstvwxz2456789").
  std::string name_suffix(int n = 5);
  /// An independent stream for a part of the program, so that parts do not disturb each other.
  Rng fork(std::uint64_t stream);

 private:
  std::mt19937_64 engine_;
};

} // namespace berth
