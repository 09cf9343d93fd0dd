// How apply looks at one value under its type: a scalar, a list or a map; shared or owned whole.
// Source: structured-merge-diff's schema and typed/helpers.go, and how Kubernetes makes its schemas
// from OpenAPI (kube-openapi's schemaconv).
#pragma once

#include <string_view>

#include "berth/base/result.h"
#include "berth/patch/path.h"
#include "berth/schema/type.h"

namespace berth::patch {

struct Atom {
  enum class Kind { Scalar, List, Map };
  Kind kind = Kind::Map;
  bool atomic = false; ///< List, Map: one owner for the whole
};

/// The type of values that no schema describes: maps are shared, lists are owned whole.
const schema::Type& deduced_type();

/// What `value` (null: absent) is under `type`. Untyped values are what they look like.
Atom atom_of(const schema::Type& type, const json::value* value);
/// The type of member `name` of a struct or map; null if the schema does not declare it.
const schema::Type* member_type(const schema::Type& type, std::string_view name);
/// Whether `name` is a named field of a struct, not just a key of a map.
bool is_named(const schema::Type& type, std::string_view name);
/// The type of a list's elements.
const schema::Type& element_type(const schema::Type& list);
/// The path element of `item` in a set or a list with keys; keys that are left out have their
/// defaults (a port's protocol). Error: Invalid, in structured-merge-diff's words.
Result<PathElement> element_of(const schema::Type& list, const json::value& item);

} // namespace berth::patch
