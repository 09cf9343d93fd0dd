// Fields of built-in kinds that say the same in two places: a typed server keeps them in step
// whenever it reads an object. Source: kubernetes/pkg/apis/core/v1 conversion.go and defaults.go,
// pkg/registry/core/secret.
#pragma once

#include "berth/api/kinds.h"
#include "berth/api/object.h"

namespace berth::server {

/// Secret: stringData goes into data. Pod: podIP and podIPs, hostIP and hostIPs. Node: allocatable
/// is the capacity unless it is told.
void bring_into_normal_form(const api::GroupVersionKind& gvk, api::json::value& document);

} // namespace berth::server
