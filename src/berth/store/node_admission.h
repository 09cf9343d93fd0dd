// The TaintNodesByCondition admission plugin. Source: kubernetes/plugin/pkg/admission/nodetaint.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// A new node gets node.kubernetes.io/not-ready:NoSchedule, which the node controller takes away
/// once it is ready.
Result<void> taint_new_node(const AdmissionRequest& request, api::json::value& document);

} // namespace berth::store
