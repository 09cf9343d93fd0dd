// Lists of custom resources that are sets or maps (x-kubernetes-list-type): no element twice.
#pragma once

#include <boost/json/value.hpp>

#include "berth/schema/field_error.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// Adds "Duplicate value" for each element that repeats an earlier one, or its keys.
void check_lists(const boost::json::value& object, const Type& type, FieldErrors& errors);

} // namespace berth::schema
