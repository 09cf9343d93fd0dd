// What differs between kinds in the API server's generic write path.
#pragma once

#include <boost/json/fwd.hpp>

#include "berth/store/request.h"

namespace berth::store {

/// Whether metadata.generation counts changes of the desired state (pods, workloads, custom
/// resources) or is absent (nodes, leases, config maps, ...). Source: each kind's strategy in
/// kubernetes/pkg/registry.
bool counts_generation(const GroupKind& kind);

/// Whether POST drops a status in the body. Nodes keep it: kubelets register with theirs.
bool create_drops_status(const GroupKind& kind);

/// Whether anything but metadata and status differs.
bool desired_state_differs(const api::json::object& before, const api::json::object& now);

} // namespace berth::store
