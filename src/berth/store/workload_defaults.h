// What the API server fills in for workloads other than Jobs, and for claims of devices. Sources:
// kubernetes/pkg/apis/{apps/v1,batch/v1,resource/v1}/defaults.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Deployment, ReplicaSet, StatefulSet, DaemonSet, CronJob, their pod templates, and the status
/// each begins with.
Result<void> default_workload(const AdmissionRequest& request, api::json::value& document);
/// ResourceClaims and their templates: one device of each request unless it says otherwise.
Result<void> default_device_claim(const AdmissionRequest& request, api::json::value& document);

} // namespace berth::store
