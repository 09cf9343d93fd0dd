// What may change in a pod that is there. Source: kubernetes/pkg/apis/core/validation
// ValidatePodUpdate.
#pragma once

#include "berth/api/object.h"
#include "berth/store/errors.h"

namespace berth::store {

/// Images, deadlines, tolerations and gates may change, each in one direction; nothing else.
void check_changed_pod(const api::Object& before, const api::Object& now, FieldErrors& errors);

} // namespace berth::store
