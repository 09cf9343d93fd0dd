// What a status of a pod may not say. Source: kubernetes/pkg/apis/core/validation
// ValidatePodStatusUpdate.
#pragma once

#include "berth/api/object.h"
#include "berth/store/errors.h"

namespace berth::store {

/// Conditions, addresses and claims are well formed, the quality of service stays, and containers
/// that do not restart stay ended.
void check_pod_status(const api::Object& before, const api::Object& now, FieldErrors& errors);

} // namespace berth::store
