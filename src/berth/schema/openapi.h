// OpenAPI documents of what is served: what kubectl explains, completes and validates by.
//
//   /openapi/v3/apis/apps/v1   openapi_v3(resources of apps/v1)
//   /openapi/v2                openapi_v2(all resources)
//
// A document costs milliseconds to make and is some megabytes as text: make it once and keep the
// bytes until a CustomResourceDefinition changes.
#pragma once

#include <span>

#include <boost/json/object.hpp>

#include "berth/schema/resource.h"

namespace berth::schema {

/// All resources must be of one group and version, built-in or custom.
boost::json::object openapi_v3(std::span<const Resource> resources);
/// Of any groups.
boost::json::object openapi_v2(std::span<const Resource> resources);

} // namespace berth::schema
