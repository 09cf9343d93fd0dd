// What an expression comes to. Source: cel-spec, doc/langdef.md ("Evaluation": && and || do not
// care for an error if the other side decides).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "berth/cel/ast.h"

namespace berth::cel {

/// A variable's value.
struct Bound {
  std::string_view name;
  Value value;
};

struct Evaluated {
  Outcome value;
  std::int64_t cost = 0; ///< about one for each step, more for long texts and lists
};

/// What no evaluation survives: more than `limit` has been spent. Source:
/// k8s.io/apiserver/pkg/apis/cel (PerCallLimit).
inline constexpr const char* kCostExceeded = "operation cancelled: actual cost limit exceeded";

Evaluated evaluate(const Node& root, std::span<const Bound> variables, std::int64_t limit);

} // namespace berth::cel
