// Which pods the API server refuses, in its words: kubernetes/pkg/apis/core/validation.
#pragma once

#include "berth/store/admission.h"
#include "berth/store/validation/judged.h"

namespace berth::store {

/// Every wrong field of a new pod; on update, what may not change.
void check_pod(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

/// The spec of a pod or of a workload's template; `pod_name` is the pod's, "" in a template.
void check_pod_spec(const Judged& spec, std::string_view pod_name);

/// `spec`.tolerations.
void check_tolerations(const Judged& spec);

/// A PodTemplateSpec: labels and annotations, then the spec.
void check_pod_template(const Judged& pod);

} // namespace berth::store
