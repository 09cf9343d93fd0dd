// CustomResourceDefinitions: their defaults and validation, and the resources that they define.
// Source: apiextensions-apiserver pkg/apis/apiextensions.
#pragma once

#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/schema/field_error.h"
#include "berth/schema/resource.h"

namespace berth::schema {

/// What apiextensions/v1 fills in: names.singular, names.listKind, conversion.strategy, and
/// status.storedVersions.
void default_definition(boost::json::object& crd);

/// What is wrong with a defaulted definition; empty if nothing is. O(size).
FieldErrors check_definition(const boost::json::value& crd);

/// One resource for each served version, with its type. The definition must have passed
/// check_definition(). A definition of a megabyte takes tens of
/// milliseconds.
Result<std::vector<Resource>> resources_of(const boost::json::value& crd);

} // namespace berth::schema
