// What the API server does to a batch/v1 Job: defaults, its selector and labels. Source:
// kubernetes/pkg/apis/batch and pkg/registry/batch/job/strategy.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

Result<void> default_job(const AdmissionRequest& request, api::json::value& document);
/// On creation: the controller-uid selector, and the labels of the template and of the Job.
Result<void> generate_job_selector(const AdmissionRequest& request, api::json::value& document);

} // namespace berth::store
