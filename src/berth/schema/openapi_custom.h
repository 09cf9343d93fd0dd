// Custom resources in OpenAPI documents: their schema as it was written, with what every object
// has. Source: apiextensions-apiserver pkg/controller/openapi/builder.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "berth/schema/openapi_schema.h"
#include "berth/schema/resource.h"

namespace berth::schema {

/// `resource.custom` holds.
boost::json::object custom_definition(const Resource& resource, SchemaWriter& schemas);
boost::json::object custom_list_definition(const Resource& resource, SchemaWriter& schemas);

/// The name of the type of lists: "io.k8s.api.core.v1.PodList".
std::string list_type_name(const Resource& resource);

} // namespace berth::schema
