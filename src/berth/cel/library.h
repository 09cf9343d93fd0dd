// The functions and operators that expressions may call, each with its overloads. Sources:
// cel-spec, doc/langdef.md ("List of Standard Definitions"); cel-go's ext (strings, sets, optional
// types); k8s.io/apiserver/pkg/cel/library for what Kubernetes adds.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cel/value.h"

namespace berth::cel {

/// What a function makes of its arguments, the target of a member function first.
using Run = Outcome (*)(std::span<const Value> args);

struct Overload {
  bool member = false;
  std::vector<TypeRef> args; ///< the target first
  TypeRef result;
  Run run = nullptr; ///< null: the evaluator's own (&&, ||, ?:)
};

using Library = std::map<std::string, std::vector<Overload>, std::less<>>;

/// All of them, by name; operators as cel-go calls them: "_+_", "_[_]", "@in".
const Library& library();

bool is_function(std::string_view name);

/// The call's value: the first overload that takes such arguments. Failure: "no such overload",
/// or what the function says.
Outcome call(std::string_view name, bool member, std::span<const Value> args);

/// One overload by its signature: "size(list(A)) -> int", "string::contains(string) -> bool" for a
/// member of text. Single capitals are parameters; names with a dot in them, opaque types.
struct Declaration {
  std::string signature;
  Run run = nullptr;
};

// What library() is made of, by subject.
std::vector<Declaration> operators();
std::vector<Declaration> conversions();
std::vector<Declaration> text_functions();
std::vector<Declaration> time_functions();
std::vector<Declaration> list_functions();
std::vector<Declaration> optional_functions();
std::vector<Declaration> quantity_functions();
std::vector<Declaration> network_functions();
std::vector<Declaration> version_functions();
std::vector<Declaration> access_functions();

} // namespace berth::cel
