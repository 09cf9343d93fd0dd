// What a resize may change in a pod, and what the subresource ephemeralcontainers may add. Source:
// kubernetes/pkg/apis/core/validation ValidatePodResize, ValidatePodEphemeralContainersUpdate.
#pragma once

#include "berth/api/object.h"
#include "berth/store/errors.h"

namespace berth::store {

/// cpu and memory of containers and sidecars may change, as long as none is taken away and the
/// pod's quality of service stays.
void check_resized_pod(const api::Object& before, const api::Object& now, FieldErrors& errors);

/// Ephemeral containers may be added; those that are there stay as they are.
void check_debugged_pod(const api::Object& before, const api::Object& now, FieldErrors& errors);

} // namespace berth::store
