// Pod Security admission: namespaces ask by their labels what pods in them may not do. Source:
// KEP-2579; k8s.io/pod-security-admission/admission/admission.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Pods that violate what is enforced are refused, others and templates of pods warned of. Of
/// namespaces the labels are read, and existing pods held against what is newly enforced. O(1)
/// where a namespace has no such labels.
Result<void> admit_pod_security(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
