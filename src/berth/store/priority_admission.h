// The Priority admission plugin: a pod's number comes from its PriorityClass, never from its
// author. Source: kubernetes/plugin/pkg/admission/priority and pkg/apis/scheduling.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// spec.priority, spec.priorityClassName and spec.preemptionPolicy of a pod. Forbidden: no such
/// class, or a value of one's own. The system classes exist always.
Result<void> resolve_priority(const AdmissionRequest& request, api::json::value& document);

/// preemptionPolicy of a PriorityClass.
Result<void> default_priority_class(const AdmissionRequest& request, api::json::value& document);

/// Its range, its reserved names, that one class at most is the default, and that value and policy
/// never change.
Result<void> check_priority_class(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
