// Lists of custom resources that are sets or maps (x-kubernetes-list-type): no element twice.
#pragma once

#include <boost/json/value.hpp>

#include "berth/schema/field_error.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// Adds "Duplicate value" for each element that repeats an earlier one, or its keys.
void check_lists(const boost::json::value& object, const Type& type, FieldErrors& errors);

/// The element of `old` with the same keys; null if `list` is no map, or has none.
const boost::json::value* same_element(const Type& list, const boost::json::value& element,
                                       const boost::json::array* old);

} // namespace berth::schema
