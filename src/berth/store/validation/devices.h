// Claims of devices, their templates and classes, and what drivers offer (dynamic resource
// allocation). Source: kubernetes/pkg/apis/resource/validation.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// ResourceClaim, ResourceClaimTemplate, DeviceClass, ResourceSlice. CEL is not compiled.
void check_devices(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
