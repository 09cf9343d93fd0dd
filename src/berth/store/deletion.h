// What DELETE does to an object: apiserver registry/rest BeforeDelete,
// registry/generic/registry/store.go and the pods' graceful deletion
// (pkg/registry/core/pod/strategy.go).
#pragma once

#include <boost/json/fwd.hpp>

#include "berth/base/time.h"
#include "berth/store/request.h"

namespace berth::store {

enum class DeletionStep {
  Keep,  ///< nothing changes: it is being deleted already
  Write, ///< it lives on with deletionTimestamp set: finalizers or a grace period hold it
  Erase, ///< it goes now
};

/// Decides and edits `document`, a copy of `current`, into the state that deletion leaves.
/// Conflict: a precondition does not hold. A bound, unfinished pod gets its grace period; a later
/// deletion may only shorten it.
Result<DeletionStep> begin_deletion(const api::Object& current, const DeleteOptions& options,
                                    TimePoint now, api::json::object& document);

/// A deleted object whose last finalizer is gone and whose grace period is zero or none.
bool deletion_complete(const api::json::object& document);

} // namespace berth::store
