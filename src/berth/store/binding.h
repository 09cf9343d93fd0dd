// POST pods/NAME/binding: the only way a pod gets its node. Rules of pkg/registry/core/pod/storage
// assignPod.
#pragma once

#include <boost/json/fwd.hpp>

#include "berth/base/time.h"
#include "berth/store/request.h"

namespace berth::store {

/// Conflict: another uid, being deleted, bound already, gated. Invalid: no node named.
Result<void> check_binding(const api::Object& pod, const Binding& binding);

/// Sets spec.nodeName, merges the annotations, makes condition PodScheduled True.
void apply_binding(const Binding& binding, TimePoint now, api::json::object& document);

} // namespace berth::store
