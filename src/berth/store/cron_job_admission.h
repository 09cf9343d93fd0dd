// What the API server refuses of CronJobs. Source: kubernetes/pkg/apis/batch/validation.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Names that leave no room for a run's, schedules and time zones that cannot be read, policies,
/// limits, and the template of the Jobs.
void check_cron_job(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors);

} // namespace berth::store
