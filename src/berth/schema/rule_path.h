// Where a rule says that its error is: ".spec.a", ".labels['b.c']". Source: apiextensions-apiserver
// pkg/apiserver/schema/cel (ValidFieldPath).
#pragma once

#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// As errors name it: "spec.a", "labels[b.c]". Error Invalid: what is wrong, or that the type has
/// no such field.
Result<std::string> field_path_of(std::string_view written, const Type& type);

} // namespace berth::schema
