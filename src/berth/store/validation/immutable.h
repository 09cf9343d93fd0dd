// Fields that an update may not touch.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

/// Whether the member has another value; absent and null are the same.
inline bool differ(const Judged& before, const Judged& now, std::string_view member) {
  const Judged was = before[member];
  const Judged is = now[member];
  return bool(was) != bool(is) || (was && *was.json() != *is.json());
}

/// "field is immutable", if the member has changed.
inline void check_immutable(const Judged& before, const Judged& now, std::string_view member) {
  if (differ(before, now, member)) {
    const Judged is = now[member];
    is.invalid(is ? api::to_json(*is.json()) : "null", "field is immutable");
  }
}

} // namespace berth::store
