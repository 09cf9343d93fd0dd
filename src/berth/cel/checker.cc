#include "berth/cel/checker.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/cel/library.h"

namespace berth::cel {
namespace {

const TypeRef& dyn() {
  static const TypeRef kDyn = simple(Kind::Dyn);
  return kDyn;
}

class Checker {
 public:
  Checker(std::span<const Variable> variables, std::vector<Issue>& issues, NodeTypes* types)
      : scope_(variables.begin(), variables.end()), issues_(&issues), types_(types) {}

  TypeRef type_of(const Node& node) {
    TypeRef type = found(node);
    if (types_ != nullptr) {
      types_->insert_or_assign(&node, type);
    }
    return type;
  }

 private:
  TypeRef found(const Node& node) {
    switch (node.form) {
    case Node::Form::Literal:
      return cel::type_of(node.literal);
    case Node::Form::Name:
      return name(node);
    case Node::Form::Select:
      return select(node);
    case Node::Form::Has:
      (void)select(node);
      return simple(Kind::Bool);
    case Node::Form::Call:
      return call(node);
    case Node::Form::List:
      return list(node);
    case Node::Form::Map:
      return map(node);
    case Node::Form::Loop:
      return loop(node);
    case Node::Form::Let:
      return let(node);
    case Node::Form::IfPresent:
      return if_present(node);
    }
    return dyn();
  }

  TypeRef wrong(std::size_t at, std::string what) {
    issues_->push_back({.at = at, .what = std::move(what)});
    return dyn();
  }

  TypeRef undeclared(std::size_t at, std::string_view what) {
    return wrong(at, fmt::format("undeclared reference to '{}' (in container '')", what));
  }

  TypeRef name(const Node& node) {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it) {
      if (it->name == node.name) {
        return it->type;
      }
    }
    return named_type(node.name) != nullptr ? simple(Kind::Type) : undeclared(node.at, node.name);
  }

  // ---- fields
  // ------------------------------------------------------------------------------------

  TypeRef select(const Node& node) {
    if (const Node& of = *node.args[0]; of.form == Node::Form::Name && !node.optional) {
      const auto variable = std::ranges::find_if(
          scope_, [&](const Variable& one) { return is_qualified(one.name, of.name, node.name); });
      if (variable != scope_.end()) {
        return variable->type;
      }
    }
    const TypeRef of = type_of(*node.args[0]);
    if (of->kind == Kind::Optional) {
      return optional_of(field(node, *of->of[0]));
    }
    const TypeRef found = field(node, *of);
    return node.optional ? optional_of(found) : found;
  }

  TypeRef field(const Node& node, const Type& of) {
    if (of.kind == Kind::Dyn) {
      return dyn();
    }
    if (of.kind == Kind::Map) {
      return of.of[1];
    }
    if (of.kind == Kind::Object) {
      const auto found = of.fields.find(unescaped(node.name));
      return found != of.fields.end()
                 ? found->second
                 : wrong(node.at, fmt::format("undefined field '{}'", node.name));
    }
    return wrong(node.at, fmt::format("type '{}' does not support field selection", to_string(of)));
  }

  // ---- calls
  // -------------------------------------------------------------------------------------

  TypeRef call(const Node& node) {
    std::vector<TypeRef> args;
    const bool mixed = std::exchange(mixed_, mixed_ || (node.member && node.name == "format"));
    for (const NodePtr& arg : node.args) {
      args.push_back(type_of(*arg));
    }
    mixed_ = mixed;
    const auto overloads = library().find(node.name);
    if (overloads == library().end()) {
      return undeclared(node.at, node.name);
    }
    TypeRef result;
    for (const Overload& one : overloads->second) {
      if (one.member != node.member || one.args.size() != args.size()) {
        continue;
      }
      Bindings bindings;
      if (!std::ranges::equal(one.args, args, [&](const TypeRef& to, const TypeRef& from) {
            return assignable(to, from, bindings);
          })) {
        continue;
      }
      TypeRef made = substitute(one.result, bindings);
      result = result == nullptr || to_string(*result) == to_string(*made) ? made : dyn();
    }
    return result != nullptr ? result : no_overload(node.at, node.name, node.member, args);
  }

  TypeRef no_overload(std::size_t at, std::string_view function, bool member,
                      std::span<const TypeRef> args) {
    std::vector<std::string> texts;
    for (const TypeRef& arg : args) {
      texts.push_back(to_string(*arg));
    }
    const std::string target = member ? texts.front() + "." : "";
    if (member) {
      texts.erase(texts.begin());
    }
    return wrong(at, fmt::format("found no matching overload for '{}' applied to '{}({})'",
                                 function, target, fmt::join(texts, ", ")));
  }

  // ---- literals
  // ----------------------------------------------------------------------------------

  /// The type of all so far together with one more: elements of a literal are of one type.
  TypeRef together(const TypeRef& all, const TypeRef& one, std::size_t at) {
    if (all == nullptr) {
      return one;
    }
    const TypeRef both = joined(all, one);
    return both != nullptr ? both
           : mixed_        ? dyn()
                    : wrong(at, fmt::format("expected type '{}' but found '{}'", to_string(*all),
                                            to_string(*one)));
  }

  TypeRef element(const Node& node, bool optional) {
    const TypeRef type = type_of(node);
    if (!optional || type->kind == Kind::Dyn) {
      return type;
    }
    return type->kind == Kind::Optional
               ? type->of[0]
               : wrong(node.at, fmt::format("expected type 'optional_type({0})' but found '{0}'",
                                            to_string(*type)));
  }

  TypeRef list(const Node& node) {
    TypeRef all;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      all = together(all, element(*node.args[i], node.optionals[i]), node.args[i]->at);
    }
    return list_of(all == nullptr ? dyn() : all);
  }

  TypeRef map(const Node& node) {
    TypeRef keys;
    TypeRef values;
    for (std::size_t i = 0; i < node.args.size(); i += 2) {
      const Node& value = *node.args[i + 1];
      keys = together(keys, type_of(*node.args[i]), node.args[i]->at);
      values = together(values, element(value, node.optionals[i / 2]), value.at);
    }
    return map_of(keys == nullptr ? dyn() : keys, values == nullptr ? dyn() : values);
  }

  // ---- macros
  // ------------------------------------------------------------------------------------

  TypeRef with(std::vector<Variable> variables, const Node& body) {
    const std::size_t before = scope_.size();
    std::ranges::move(variables, std::back_inserter(scope_));
    TypeRef out = type_of(body);
    scope_.resize(before);
    return out;
  }

  TypeRef loop(const Node& node) {
    const TypeRef range = type_of(*node.args[0]);
    TypeRef first = dyn();
    TypeRef second = dyn();
    if (range->kind == Kind::List) {
      first = node.variables.size() > 1 ? simple(Kind::Int) : range->of[0];
      second = range->of[0];
    } else if (range->kind == Kind::Map) {
      first = range->of[0];
      second = range->of[1];
    } else if (range->kind != Kind::Dyn) {
      return wrong(node.args[0]->at,
                   fmt::format("expression of type '{}' cannot be range of a comprehension (must "
                               "be list, map, or dynamic)",
                               to_string(*range)));
    }
    std::vector<Variable> variables = {{.name = node.variables[0], .type = first}};
    if (node.variables.size() > 1) {
      variables.push_back({.name = node.variables[1], .type = second});
    }
    const TypeRef body = with(variables, *node.args[1]);
    return node.args.size() > 2 ? filtered(node, body, with(variables, *node.args[2]), first)
                                : result(node, body, first);
  }

  TypeRef result(const Node& node, const TypeRef& body, const TypeRef& first) {
    switch (node.macro) {
    case Macro::All:
    case Macro::Exists:
      if (body->kind != Kind::Bool && body->kind != Kind::Dyn) {
        const TypeRef pair[] = {simple(Kind::Bool), body};
        no_overload(node.at, node.macro == Macro::All ? "_&&_" : "_||_", false, pair);
      }
      return simple(Kind::Bool);
    case Macro::ExistsOne:
      condition(node, body, simple(Kind::Int));
      return simple(Kind::Bool);
    case Macro::Filter:
      return condition(node, body, list_of(first));
    case Macro::Map:
    case Macro::TransformList:
      return list_of(body);
    case Macro::TransformMap:
      return map_of(first, body);
    case Macro::TransformMapEntry:
      return body;
    }
    return dyn();
  }

  /// The middle of map(x, condition, value) decides, the end makes the value.
  TypeRef filtered(const Node& node, const TypeRef& decides, const TypeRef& value,
                   const TypeRef& first) {
    return condition(node, decides, result(node, value, first));
  }

  TypeRef condition(const Node& node, const TypeRef& decides, const TypeRef& made) {
    if (decides->kind != Kind::Bool && decides->kind != Kind::Dyn) {
      const TypeRef triple[] = {decides, made, made};
      return no_overload(node.at, "_?_:_", false, triple);
    }
    return made;
  }

  TypeRef let(const Node& node) {
    return with({{.name = node.variables[0], .type = type_of(*node.args[0])}}, *node.args[1]);
  }

  TypeRef if_present(const Node& node) {
    const TypeRef of = type_of(*node.args[0]);
    if (of->kind != Kind::Optional && of->kind != Kind::Dyn) {
      const TypeRef target[] = {of};
      return no_overload(node.at, "hasValue", true, target);
    }
    const TypeRef inside = of->kind == Kind::Optional ? of->of[0] : dyn();
    const TypeRef made = with({{.name = node.variables[0], .type = inside}}, *node.args[1]);
    return node.optional ? made : optional_of(made);
  }

  std::vector<Variable> scope_;
  std::vector<Issue>* issues_;
  NodeTypes* types_;
  bool mixed_ = false; ///< in what format() is given, where literals may hold anything
};

} // namespace

bool is_qualified(std::string_view variable, std::string_view of, std::string_view field) {
  return variable.size() == of.size() + 1 + field.size() && variable.starts_with(of) &&
         variable[of.size()] == '.' && variable.ends_with(field);
}

TypeRef check(const Node& root, std::span<const Variable> variables, std::vector<Issue>& issues,
              NodeTypes* types) {
  return Checker(variables, issues, types).type_of(root);
}

TypeRef named_type(std::string_view name) {
  constexpr std::pair<std::string_view, Kind> kNames[] = {{"bool", Kind::Bool},
                                                          {"int", Kind::Int},
                                                          {"uint", Kind::Uint},
                                                          {"double", Kind::Double},
                                                          {"string", Kind::String},
                                                          {"bytes", Kind::Bytes},
                                                          {"list", Kind::List},
                                                          {"map", Kind::Map},
                                                          {"null_type", Kind::Null},
                                                          {"type", Kind::Type},
                                                          {"optional_type", Kind::Optional}};
  const auto found = std::ranges::find(kNames, name, [](const auto& one) { return one.first; });
  return found == std::end(kNames) ? nullptr : simple(found->second);
}

} // namespace berth::cel
