// Defaults and validation of custom resources by their structural schema, in the words of
// apiextensions-apiserver. Built-in kinds are validated by code of their own.
#pragma once

#include <boost/json/value.hpp>

#include "berth/schema/field_error.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// Writes the defaults of absent fields, and of nulls where null is no value; nulls of other fields
/// that may not be null vanish.
void apply_defaults(boost::json::value& object, const Type& type);

/// Forms, value validations, then uniqueness in lists that are sets or maps. What is written as
/// expressions is judged by cel_rules.h. `before`: the version that it replaces, or null. What is
/// wrong with a value is not held against a write that leaves the value as it was (ratcheting,
/// KEP-4008), nor are lists with duplicates if there were some. O(size), and once more for each
/// error.
FieldErrors validate(const boost::json::value& object, const Type& type,
                     const boost::json::value* before = nullptr);

} // namespace berth::schema
