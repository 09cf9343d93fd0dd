// Whether an expression makes sense before it is evaluated, and of what type it is. Source:
// cel-spec, doc/langdef.md ("Gradual Type Checking"); messages as cel-go's checker.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "berth/cel/ast.h"
#include "berth/cel/cost_estimate.h"
#include "berth/cel/issue.h"

namespace berth::cel {

struct Variable {
  std::string name;
  TypeRef type;
};

/// Whether a variable is called "of.field", as Kubernetes calls one of its own.
bool is_qualified(std::string_view variable, std::string_view of, std::string_view field);

/// The type of what the expression evaluates to; where it makes no sense an issue is added.
/// `types`: where the type of every node goes, if anybody wants to know.
TypeRef check(const Node& root, std::span<const Variable> variables, std::vector<Issue>& issues,
              NodeTypes* types = nullptr);

/// The type that a name stands for: "int", "string", ...; null: none.
TypeRef named_type(std::string_view name);

} // namespace berth::cel
