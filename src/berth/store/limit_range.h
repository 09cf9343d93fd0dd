// The LimitRanger admission plugin for containers and pods: default requests and limits, minima and
// maxima. Source: kubernetes/plugin/pkg/admission/limitranger.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Completes a LimitRange itself: a maximum is a default limit, a default limit a default request.
Result<void> default_limit_range(const AdmissionRequest& request, api::json::value& document);

/// Gives a new pod's containers what its namespace's LimitRanges default, and notes it in an
/// annotation.
Result<void> apply_limit_ranges(const AdmissionRequest& request, api::json::value& document);

/// Forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi.
Result<void> check_limit_ranges(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
