// Broken invariants: bugs of ours, never reachable by input. On in release builds.
#pragma once

#include <string>

namespace berth {

/// Prints the place, the condition and the state, then aborts.
[[noreturn]] void assertion_failed(const char* file, int line, const char* condition,
                                   const std::string& state);

} // namespace berth

/// BERTH_ASSERT(used <= total, fmt::format("used {} total {}", used, total)): the state is only
/// formatted on failure.
#define BERTH_ASSERT(condition, state)                                                             \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::berth::assertion_failed(__FILE__, __LINE__, #condition, (state));                          \
  } while (false)
