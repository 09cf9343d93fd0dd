// A container's own requests and limits as numbers for its environment and its files
// (resourceFieldRef). Pure. Rule: kubelet pkg/api/v1/resource, rounded up to the divisor; a limit
// that is not set reads as what the node can give.
#pragma once

#include <string>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/model/pod.h"

namespace berth::node {

/// `ref` is a ResourceFieldSelector. Error: no such resource, or a divisor that is no quantity.
Result<std::string> resource_field(const model::Container& container, const api::json::value& ref,
                                   const model::ResourceList& allocatable);

} // namespace berth::node
