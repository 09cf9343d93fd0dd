// Defaults and checks of roles and bindings, for a registry's admission. Source: kubernetes
// pkg/apis/rbac/v1/defaults.go, pkg/apis/rbac/validation/validation.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::server {

/// The API group of roleRef and of subjects that leave it out.
Result<void> default_binding(const store::AdmissionRequest& request, api::json::value& document);
/// Fields that are required, known words, and that a roleRef stays what it is. Names are the
/// store's business.
Result<void> validate_rbac(const store::AdmissionRequest& request, const api::Object& object);

/// `chain` and these.
store::Admission with_rbac(store::Admission chain);

} // namespace berth::server
