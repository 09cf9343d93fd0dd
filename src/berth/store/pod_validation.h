// Which pods the API server refuses, in its words: kubernetes/pkg/apis/core/validation, the parts
// that decide whether and where a pod can run.
#pragma once

#include <string>

#include "berth/store/admission.h"
#include "berth/store/errors.h"

namespace berth::store {

/// Invalid: every wrong field. On update: what may not change.
Result<void> check_pod(const AdmissionRequest& request, const api::Object& object);

/// The same for the spec of a workload's template at `path`; restartPolicy is the workload's to
/// judge.
void check_pod_template_spec(const api::json::value& spec, const std::string& path,
                             FieldErrors& errors);

} // namespace berth::store
