// ResourceQuota for what is no pod: object counts, node ports, claimed storage. Source:
// kubernetes/pkg/quota/v1/evaluator/core (services, persistent_volume_claims) and
// apiserver quota/v1/generic object counts.
#pragma once

#include "berth/store/store.h"

namespace berth::store {

/// Forbidden: exceeded quota: NAME, requested: ..., used: ..., limited: ... for a new object that
/// a quota of its namespace has no room for. What is used is counted in the store: O(objects of
/// the kind in the namespace), and nothing for namespaces without a quota.
Result<void> admit_object(const Store& store, const api::Object& object);

} // namespace berth::store
