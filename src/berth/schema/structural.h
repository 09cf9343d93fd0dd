// Structural schemas: the openAPIV3Schema of a CustomResourceDefinition, checked and turned into a
// Type with Rules. Source: apiextensions-apiserver pkg/apiserver/schema.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/schema/field_error.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// What keeps a schema from being structural, and values that it may not have. `field` is where it
/// stands: "spec.validation.openAPIV3Schema". O(size).
FieldErrors check_structural(const boost::json::value& schema, const std::string& field);

/// The type of a custom resource by that name ("com.example.v1.Gang"), with apiVersion, kind and
/// metadata. `schema` should have passed check_structural(): what it does not understand it leaves
/// open. Error Invalid: a pattern that is none.
Result<TypePtr> structural_type(const boost::json::value& schema, std::string_view name);

} // namespace berth::schema
