// What an expression costs at most, before there is anything to evaluate it on. Sources: cel-go
// checker/cost.go; k8s.io/apiserver/pkg/cel/library/cost.go.
#pragma once

#include <cstdint>
#include <map>

#include "berth/cel/ast.h"

namespace berth::cel {

inline constexpr std::uint64_t kUnboundedCost = UINT64_MAX;

/// The type of each node, as checked.
using NodeTypes = std::map<const Node*, TypeRef>;

/// How long texts, lists and maps get is said by their types (Type::max_elements). O(nodes).
std::uint64_t estimate_cost(const Node& root, const NodeTypes& types);

/// Without overflow: what is too large is kUnboundedCost.
std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b);
std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b);

} // namespace berth::cel
