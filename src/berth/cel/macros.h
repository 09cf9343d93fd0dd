// Calls that are no calls: what they are given is evaluated for each element, or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/cel/ast.h"
#include "berth/cel/issue.h"

namespace berth::cel {

struct MacroCall {
  std::size_t at = 0;
  NodePtr target; ///< null: none
  std::string name;
  std::vector<NodePtr> args;
};

/// The node that the call stands for; nullopt if it is an ordinary call. null, and an issue, if a
/// macro is called in a way that it cannot be.
std::optional<NodePtr> expand(const MacroCall& call, std::vector<Issue>& issues);

} // namespace berth::cel
