// What a status of a Job may not say: Jobs have controllers besides Kubernetes' own (managedBy).
// Source: kubernetes/pkg/apis/batch/validation ValidateJobStatusUpdate, with what
// pkg/registry/batch/job/strategy.go asks of changes alone.
#pragma once

#include "berth/api/object.h"
#include "berth/store/errors.h"

namespace berth::store {

/// Counts that fall, ends that are taken back, conditions that contradict each other or come
/// without what belongs to them, indexes that are none.
void check_job_status(const api::Object& before, const api::Object& now, FieldErrors& errors);

} // namespace berth::store
