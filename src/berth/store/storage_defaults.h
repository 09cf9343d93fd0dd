// What the API server fills in for claims, volumes, classes and drivers of storage. Source:
// kubernetes/pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

Result<void> default_storage(const AdmissionRequest& request, api::json::value& document);

} // namespace berth::store
