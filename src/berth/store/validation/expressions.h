// Expressions (CEL) of device selectors: whether they compile. Source:
// k8s.io/dynamic-resource-allocation/cel.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

/// Of a selector of devices: it speaks of `device` and is true or false.
void check_device_expression(const Judged& expression);

} // namespace berth::store
