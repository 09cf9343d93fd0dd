// What the API server refuses of workloads other than Jobs. Source:
// kubernetes/pkg/apis/apps/validation/validation.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// StatefulSet, DaemonSet: counts, selectors, templates, strategies, and what may not change.
void check_workload(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors);

} // namespace berth::store
