// Types of the Common Expression Language, as its checker knows them. Source: cel-spec,
// doc/langdef.md ("Values", "Gradual Type Checking"); names as cel-go writes them in its errors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

enum class Kind {
  Dyn, ///< known at run time only
  Null,
  Bool,
  Int,
  Uint,
  Double,
  String,
  Bytes,
  Duration,
  Timestamp,
  List,      ///< `of[0]`
  Map,       ///< `of[0]` -> `of[1]`
  Object,    ///< `fields`
  Optional,  ///< of `of[0]`
  Type,      ///< of `of[0]`
  Opaque,    ///< `name`: "kubernetes.Quantity", "net.IP", ...
  Parameter, ///< `name`: of a function's signature
};

struct Type;
using TypeRef = std::shared_ptr<const Type>;

/// Immutable once built.
struct Type {
  Kind kind = Kind::Dyn;
  std::string name; ///< Object, Opaque, Parameter
  std::vector<TypeRef> of;
  std::map<std::string, TypeRef, std::less<>> fields; ///< Object: by the names that objects have

  /// How many characters, elements or members a value has at most; -1: that is not known.
  std::int64_t max_elements = -1;

  /// How lists compare: in any order if they are sets, or maps by `keys` (x-kubernetes-list-type).
  bool set = false;
  std::vector<std::string> keys;
};

/// A type that has no more to it than its kind.
TypeRef simple(Kind kind);
TypeRef list_of(TypeRef element);
TypeRef map_of(TypeRef key, TypeRef value);
TypeRef optional_of(TypeRef value);
TypeRef opaque(std::string_view name);

/// "list(string)", "map(string, dyn)", "kubernetes.Quantity".
std::string to_string(const Type& type);

/// What stands for parameters in one call.
using Bindings = std::map<std::string, TypeRef, std::less<>>;

/// Whether a value of type `from` may stand where `to` is expected; binds parameters of `to`.
bool assignable(const TypeRef& to, const TypeRef& from, Bindings& bindings);
/// `type` with its parameters replaced; what is not bound becomes dyn.
TypeRef substitute(const TypeRef& type, const Bindings& bindings);
/// The narrowest type that holds values of both; null if there is none but dyn.
TypeRef joined(const TypeRef& a, const TypeRef& b);

/// The name of a field as expressions write it: "__namespace__", "a__dash__b"; "" if it cannot be
/// written. Source: the Kubernetes API's "Field names" of x-kubernetes-validations.
std::string escaped(std::string_view field);
/// The name of the field that an expression writes so.
std::string unescaped(std::string_view written);

} // namespace berth::cel
