// Deployments, ReplicaSets and ReplicationControllers: what keeps a number of like pods. Source:
// kubernetes/pkg/apis/apps/validation, pkg/apis/core/validation ValidateReplicationControllerSpec.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// A ReplicationController's replicas, selector and labels, which its template stands for.
Result<void> default_controller(const AdmissionRequest& request, api::json::value& document);

void check_replicas(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors);

} // namespace berth::store
