// How many random histories a property test walks: a few by default, more when asked
// (`./dev fuzz-sched`).
#pragma once

#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

namespace berth::test {

/// Seeds from BERTH_FIRST_SEED (0) on, BERTH_SEEDS (`usually`) of them.
inline auto seeds(std::uint64_t usually) {
  const auto number = [](const char* variable, std::uint64_t otherwise) -> std::uint64_t {
    const char* given = std::getenv(variable);
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
  };
  const std::uint64_t first = number("BERTH_FIRST_SEED", 0);
  return ::testing::Range(first, first + number("BERTH_SEEDS", usually));
}

} // namespace berth::test
