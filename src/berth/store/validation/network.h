// Ingress, IngressClass, NetworkPolicy, Endpoints and EndpointSlice. Source:
// kubernetes/pkg/apis/networking/validation, core/validation ValidateEndpoints,
// discovery/validation.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// policyTypes of a NetworkPolicy; ports of an EndpointSlice.
Result<void> default_network(const AdmissionRequest& request, api::json::value& document);

void check_network(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
