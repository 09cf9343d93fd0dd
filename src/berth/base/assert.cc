#include "berth/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace berth {

void assertion_failed(const char* file, int line, const char* condition, const std::string& state) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s: %s\n", file, line, condition, state.c_str());
  std::abort();
}

} // namespace berth
