// What the API server fills in for a pod: kubernetes/pkg/apis/core/v1/defaults.go and the
// DefaultTolerationSeconds admission plugin. Wrongly typed fields are left alone; decoding reports
// them.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Defaults of a PodSpec, in a pod or in a workload's template. Quantities become canonical.
void default_pod_spec(api::json::object& spec);

/// A pod's spec, and on creation its status: Pending, QoS class, SchedulingGated.
Result<void> default_pod(const AdmissionRequest& request, api::json::value& document);

/// Every pod tolerates not-ready and unreachable nodes for 300 s, unless it says otherwise.
Result<void> default_tolerations(const AdmissionRequest& request, api::json::value& document);

} // namespace berth::store
