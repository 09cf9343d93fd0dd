// What expressions know of a custom resource: the types of its structural schema as the Common
// Expression Language has them. Source: k8s.io/apiserver/pkg/cel/common (SchemaDeclType).
#pragma once

#include "berth/cel/type.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// null: expressions cannot speak of it (fields whose type is left open). `name` is what errors
/// call objects. O(size).
cel::TypeRef expression_type(const Type& type, const std::string& name);

} // namespace berth::schema
