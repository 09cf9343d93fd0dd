// Finalizers of objects and the patches that take them off.
#pragma once

#include <string_view>

#include "berth/api/json.h"
#include "berth/api/object.h"

namespace berth::controllers {

/// Dependents go first; put on by a foreground deletion, taken off by the garbage collector.
inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
/// Dependents stay and lose their reference; put on by an orphaning deletion.
inline constexpr std::string_view kOrphanFinalizer = "orphan";

bool has_finalizer(const api::Object& object, std::string_view finalizer);

/// Deleted, and neither a finalizer nor a grace period holds it: what a server removes.
bool deletion_complete(const api::ObjectMeta& meta);

/// A merge patch that takes the finalizer off this version of the object. It replaces the whole
/// list, so it carries uid and resourceVersion as preconditions.
api::json::value without_finalizer(const api::Object& object, std::string_view finalizer);

} // namespace berth::controllers
