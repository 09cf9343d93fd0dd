// Expressions (CEL) in objects: whether they compile where they stand. Sources:
// k8s.io/dynamic-resource-allocation/cel; apiserver/pkg/admission/plugin/cel.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

/// Of a selector of devices: it speaks of `device` and is true or false.
void check_device_expression(const Judged& expression);

/// What a policy's expression must come to.
enum class PolicyResult { Anything, Bool, Text };

/// Of an admission policy: it speaks of object, oldObject, request, namespaceObject, params and
/// variables. What asks the authorizer is taken as it is.
void check_policy_expression(const Judged& expression, PolicyResult result);

} // namespace berth::store
