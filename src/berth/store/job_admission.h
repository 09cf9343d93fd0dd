// What the API server does to a batch/v1 Job: defaults, its selector and labels, validation,
// immutable fields. Source: kubernetes/pkg/apis/batch and pkg/registry/batch/job/strategy.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Defaults; on creation the controller-uid selector and the labels of the template.
Result<void> default_job(const AdmissionRequest& request, api::json::value& document);

Result<void> check_job(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
