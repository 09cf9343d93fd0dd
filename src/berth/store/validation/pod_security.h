// Security contexts of pods and containers. Source: kubernetes/pkg/apis/core/validation
// validatePodSpecSecurityContext, ValidateSecurityContext.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

void check_pod_security(const Judged& spec);
void check_container_security(const Judged& context);

} // namespace berth::store
