// Which Nodes the API server refuses. Source: kubernetes/pkg/apis/core/validation ValidateNode,
// ValidateNodeUpdate.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

void check_node(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
