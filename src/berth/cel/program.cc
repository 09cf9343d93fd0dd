#include "berth/cel/program.h"

#include <algorithm>

#include "berth/cel/parser.h"

namespace berth::cel {
namespace {

tl::unexpected<Error> refused(const std::vector<Issue>& issues, std::string_view expression) {
  return fail(Code::Invalid, "compilation failed: " + to_string(issues, expression));
}

bool stands_in(std::string_view variable, const Node& node) {
  if (node.form == Node::Form::Name) {
    return node.name == variable;
  }
  const bool hidden = std::ranges::find(node.variables, variable) != node.variables.end();
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    if ((i == 0 || !hidden) && stands_in(variable, *node.args[i])) {
      return true;
    }
  }
  return false;
}

} // namespace

Result<std::shared_ptr<const Program>> Program::compile(std::string_view expression,
                                                        std::span<const Variable> variables) {
  std::vector<Issue> issues;
  NodePtr root = parse(expression, issues);
  if (root == nullptr) {
    return refused(issues, expression);
  }
  TypeRef type = check(*root, variables, issues);
  if (!issues.empty()) {
    return refused(issues, expression);
  }
  return std::make_shared<const Program>(std::move(root), std::move(type));
}

std::uint64_t Program::estimated_cost(std::span<const Variable> variables) const {
  std::vector<Issue> issues;
  NodeTypes types;
  check(*root_, variables, issues, &types);
  return estimate_cost(*root_, types);
}

bool Program::uses(std::string_view variable) const {
  return stands_in(variable, *root_);
}

} // namespace berth::cel
