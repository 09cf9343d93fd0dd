// ConfigMaps and Secrets: keys, sizes, what each type of secret must hold. Source:
// kubernetes/pkg/apis/core/validation ValidateConfigMap, ValidateSecret.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

void check_config(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
