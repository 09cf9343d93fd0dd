// PodDisruptionBudgets on their way into the store: their first status, and what is refused.
// Source: kubernetes/pkg/apis/policy/validation.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

Result<void> default_budget(const AdmissionRequest& request, api::json::value& document);
/// Both sizes at once, sizes that are neither a count nor a percentage, unknown policies.
void check_budget(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
