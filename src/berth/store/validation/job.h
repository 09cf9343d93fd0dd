// Which Jobs the API server refuses. Source: kubernetes/pkg/apis/batch/validation ValidateJob,
// ValidateJobUpdate.
#pragma once

#include "berth/store/admission.h"
#include "berth/store/validation/judged.h"

namespace berth::store {

void check_job(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

/// A Job's spec but for its selector, as a CronJob's template has it too.
void check_job_spec(const Judged& spec);

} // namespace berth::store
