#include "berth/base/rng.h"

#include <fmt/format.h>

#include "berth/base/assert.h"

namespace berth {

std::uint64_t Rng::below(std::uint64_t n) {
  BERTH_ASSERT(n > 0, "below(0)");
  // Rejects the short last interval, so every value is equally likely.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % n;
  std::uint64_t x = engine_();
  while (x >= limit) {
    x = engine_();
  }
  return x % n;
}

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  BERTH_ASSERT(low <= high, fmt::format("between({}, {})", low, high));
  const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return span == UINT64_MAX
             ? static_cast<std::int64_t>(engine_())
             : static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below(span + 1));
}

std::string Rng::uuid() {
  const std::uint64_t a = (engine_() & ~0xF000ULL) | 0x4000ULL;
  const std::uint64_t b = (engine_() & ~(0xC000ULL << 48)) | (0x8000ULL << 48);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xFFFF, a & 0xFFFF,
                     b >> 48, b & 0xFFFFFFFFFFFFULL);
}

std::string Rng::name_suffix(int n) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < n; ++i) {
    out += kAlphabet[below(kAlphabet.size())];
  }
  return out;
}

Rng Rng::fork(std::uint64_t stream) {
  return Rng(engine_() ^ (stream * 0x9E3779B97F4A7C15ULL));
}

} // namespace berth
