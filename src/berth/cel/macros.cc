#include "berth/cel/macros.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace berth::cel {
namespace {

/// A macro by its name and how many arguments it takes.
struct Loop {
  std::string_view name;
  std::size_t variables;
  std::size_t bodies;
  Macro macro;
};

constexpr std::array<Loop, 17> kLoops = {{
    {.name = "all", .variables = 1, .bodies = 1, .macro = Macro::All},
    {.name = "exists", .variables = 1, .bodies = 1, .macro = Macro::Exists},
    {.name = "exists_one", .variables = 1, .bodies = 1, .macro = Macro::ExistsOne},
    {.name = "existsOne", .variables = 1, .bodies = 1, .macro = Macro::ExistsOne},
    {.name = "map", .variables = 1, .bodies = 1, .macro = Macro::Map},
    {.name = "map", .variables = 1, .bodies = 2, .macro = Macro::Map},
    {.name = "filter", .variables = 1, .bodies = 1, .macro = Macro::Filter},
    {.name = "all", .variables = 2, .bodies = 1, .macro = Macro::All},
    {.name = "exists", .variables = 2, .bodies = 1, .macro = Macro::Exists},
    {.name = "exists_one", .variables = 2, .bodies = 1, .macro = Macro::ExistsOne},
    {.name = "existsOne", .variables = 2, .bodies = 1, .macro = Macro::ExistsOne},
    {.name = "transformList", .variables = 2, .bodies = 1, .macro = Macro::TransformList},
    {.name = "transformList", .variables = 2, .bodies = 2, .macro = Macro::TransformList},
    {.name = "transformMap", .variables = 2, .bodies = 1, .macro = Macro::TransformMap},
    {.name = "transformMap", .variables = 2, .bodies = 2, .macro = Macro::TransformMap},
    {.name = "transformMapEntry", .variables = 2, .bodies = 1, .macro = Macro::TransformMapEntry},
    {.name = "transformMapEntry", .variables = 2, .bodies = 2, .macro = Macro::TransformMapEntry},
}};

bool is_name(const NodePtr& node) {
  return node != nullptr && node->form == Node::Form::Name;
}

NodePtr refused(std::vector<Issue>& issues, std::size_t at, std::string what) {
  issues.push_back({.at = at, .what = std::move(what)});
  return nullptr;
}

NodePtr presence(const MacroCall& call, std::vector<Issue>& issues) {
  const NodePtr& of = call.args[0];
  if (of == nullptr) {
    return nullptr;
  }
  if (of->form != Node::Form::Select || of->optional) {
    return refused(issues, of->at, "invalid argument to has() macro");
  }
  Node node = *of;
  node.form = Node::Form::Has;
  return make_node(std::move(node));
}

NodePtr loop(const MacroCall& call, const Loop& as, std::vector<Issue>& issues) {
  Node node{.form = Node::Form::Loop, .at = call.at, .name = call.name, .macro = as.macro};
  node.args.push_back(call.target);
  for (std::size_t i = 0; i < as.variables; ++i) {
    if (!is_name(call.args[i])) {
      const std::size_t at = call.args[i] == nullptr ? call.at : call.args[i]->at;
      return refused(issues, at, "argument must be a simple name");
    }
    node.variables.push_back(call.args[i]->name);
  }
  for (std::size_t i = 0; i < as.bodies; ++i) {
    node.args.push_back(call.args[as.variables + i]);
  }
  return make_node(std::move(node));
}

NodePtr binding(const MacroCall& call, Node::Form form, const NodePtr& value,
                std::vector<Issue>& issues) {
  const NodePtr& variable = call.args[0];
  if (!is_name(variable)) {
    return refused(issues, variable == nullptr ? call.at : variable->at,
                   fmt::format("{}() variable name must be a simple identifier", call.name));
  }
  return make_node({.form = form,
                    .at = call.at,
                    .name = call.name,
                    .optional = call.name == "optFlatMap",
                    .args = {value, call.args.back()},
                    .variables = {variable->name}});
}

} // namespace

std::optional<NodePtr> expand(const MacroCall& call, std::vector<Issue>& issues) {
  if (call.target == nullptr) {
    return call.name == "has" && call.args.size() == 1 ? std::optional(presence(call, issues))
                                                       : std::nullopt;
  }
  if (is_name(call.target) && call.target->name == "cel" && call.name == "bind" &&
      call.args.size() == 3) {
    return binding(call, Node::Form::Let, call.args[1], issues);
  }
  if ((call.name == "optMap" || call.name == "optFlatMap") && call.args.size() == 2) {
    return binding(call, Node::Form::IfPresent, call.target, issues);
  }
  // Of three arguments the second is a variable too, if it is a name; map(x, filter, f) takes none.
  const bool second_is_name = call.args.size() > 2 && is_name(call.args[1]) && call.name != "map";
  const std::size_t variables = second_is_name || call.name.starts_with("transform") ? 2 : 1;
  const auto as = std::ranges::find_if(kLoops, [&](const Loop& one) {
    return one.name == call.name && one.variables == variables &&
           one.variables + one.bodies == call.args.size();
  });
  return as == kLoops.end() ? std::nullopt : std::optional(loop(call, *as, issues));
}

} // namespace berth::cel
