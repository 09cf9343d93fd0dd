// FieldsV1: how managedFields write a set of fields. A member is a key with its path element
// (`f:name`, `k:{"name":"c"}`, `v:"a"`, `i:0`); "." says that the parent itself is a member when
// something below it is too. Source: structured-merge-diff's fieldpath/serialize.go.
#pragma once

#include "berth/base/result.h"
#include "berth/patch/field_set.h"

namespace berth::patch {

/// Path elements of kinds that are not known are left out. Error: Invalid, the key and what it
/// lacks.
Result<FieldSet> read_fields_v1(const json::value& fields);
json::object write_fields_v1(const FieldSet& set);

} // namespace berth::patch
