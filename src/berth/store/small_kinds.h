// Defaults and checks of kinds that need few: Namespace, ResourceQuota, Lease, Event, RuntimeClass,
// HorizontalPodAutoscaler.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// A namespace's phase and its name as a label; an empty status for a quota.
Result<void> default_small_kinds(const AdmissionRequest& request, api::json::value& document);

/// A new namespace's spec.finalizers, which are the server's and not the writer's.
Result<void> hold_namespace(const AdmissionRequest& request, api::json::value& document);

void check_small_kinds(const AdmissionRequest& request, const api::Object& object,
                       FieldErrors& errors);

} // namespace berth::store
