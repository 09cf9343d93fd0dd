// ResourceQuotas and LimitRanges. Source: kubernetes/pkg/apis/core/validation
// ValidateResourceQuota, ValidateLimitRange.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

void check_quotas(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
