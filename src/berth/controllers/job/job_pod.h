// The pods a Job creates. Form: batch/v1 Job pods (tracking finalizer, batch.kubernetes.io/ labels
// with their legacy twins, completion index as label, annotation, host name and environment
// variable).
#pragma once

#include <string>

#include "berth/api/object.h"
#include "berth/controllers/job/plan.h"
#include "berth/controllers/job/state.h"

namespace berth::controllers {

/// Error if the template's metadata is malformed.
Result<api::Object> make_job_pod(const api::Object& job, const JobState& state,
                                 const PodCreation& wanted, const std::string& suffix);

} // namespace berth::controllers
