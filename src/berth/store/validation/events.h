// Events. Source: kubernetes/pkg/apis/core/validation/events.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Written through core/v1 they may be as they always were; through events.k8s.io/v1
/// (`request.as_events`) they are held to what is new there.
void check_event(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

} // namespace berth::store
