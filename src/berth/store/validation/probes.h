// Probes and lifecycle hooks of a container. Source: kubernetes/pkg/apis/core/validation
// validateHandler, validateProbe, validateLifecycle.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

/// lifecycle, livenessProbe, readinessProbe and startupProbe of `container`. `grace` is the pod's
/// terminationGracePeriodSeconds.
void check_probes(const Judged& container, std::int64_t grace);

} // namespace berth::store
