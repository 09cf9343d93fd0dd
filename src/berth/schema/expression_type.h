// What expressions know of a custom resource: the types of its structural schema as the Common
// Expression Language has them. Source: k8s.io/apiserver/pkg/cel/common (SchemaDeclType).
#pragma once

#include <cstdint>
#include <optional>

#include "berth/cel/type.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// null: expressions cannot speak of it (fields whose type is left open). `name` is what errors
/// call objects. O(size).
cel::TypeRef expression_type(const Type& type, const std::string& name);

/// How many bytes a value of this type takes in JSON at least; nullopt: expressions do not see it.
std::optional<std::int64_t> min_serialized(const Type& type);
/// How long a text, how many elements or members: what the schema says, else what fits into a
/// request.
std::int64_t max_elements(const Type& type);

} // namespace berth::schema
