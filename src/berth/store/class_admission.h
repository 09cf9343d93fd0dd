// Classes that new objects name or are given: RuntimeClass for pods, IngressClass for Ingresses.
// Source: kubernetes/plugin/pkg/admission/{runtimeclass,network/defaultingressclass}.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Fills in overhead, node selector and tolerations of a new pod. Forbidden: there is no such
/// class, or the pod says otherwise.
Result<void> apply_runtime_class(const AdmissionRequest& request, api::json::value& document);

/// DefaultIngressClass: a new Ingress that names no class gets the newest default one.
Result<void> apply_ingress_class(const AdmissionRequest& request, api::json::value& document);

} // namespace berth::store
