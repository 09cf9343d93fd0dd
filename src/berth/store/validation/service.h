// Which Services the API server refuses. Source: kubernetes/pkg/apis/core/validation
// ValidateService, ValidateServiceUpdate.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

void check_service(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
