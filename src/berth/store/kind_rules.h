// What differs between kinds in the API server's generic write path.
#pragma once

#include <boost/json/fwd.hpp>

#include "berth/store/request.h"

namespace berth::store {

/// Whether the kind comes with the API server, rather than by a CustomResourceDefinition.
bool is_built_in(const GroupKind& kind);

/// Whether metadata.generation counts changes of the desired state (pods, workloads, custom
/// resources) or is absent (nodes, leases, config maps, ...). Source: each kind's strategy in
/// kubernetes/pkg/registry.
bool counts_generation(const GroupKind& kind);

/// Whether POST drops a status in the body. Nodes keep it: kubelets register with theirs.
bool create_drops_status(const GroupKind& kind);

/// What a write of the status takes over of metadata: of most kinds all that a client may write.
/// Source: the PrepareForUpdate of each status strategy.
enum class StatusMetadata {
  Written,
  ButLabels, ///< labels stay as they are
  ButOwners, ///< owner references stay as they are
  Kept,      ///< all of it stays as it is
};
StatusMetadata status_metadata(const GroupKind& kind);

/// Whether anything but metadata and status differs.
bool desired_state_differs(const api::json::object& before, const api::json::object& now);

} // namespace berth::store
