// What may be in a namespace, and how the conditions of one that is deleted tell what still is.
// Source: kubernetes pkg/controller/namespace/deletion (namespaced_resources_deleter.go,
// status_condition_utils.go).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "berth/api/object.h"
#include "berth/store/request.h"

namespace berth::controllers {

/// The built-in kinds that live in namespaces.
std::span<const store::GroupKind> namespaced_kinds();

/// What is left in a namespace that is deleted.
struct Remains {
  std::map<store::GroupKind, std::int64_t> objects;
  std::map<std::string, std::int64_t> finalizers; ///< by name: objects that wait for it
  std::map<std::string, std::string> failures;    ///< by resource: why it cannot be deleted

  bool empty() const { return objects.empty(); }
};

/// The namespace with the conditions NamespaceDeletionContentFailure, NamespaceContentRemaining and
/// so on.
api::Object with_remains(const api::Object& ns, const Remains& remains, TimePoint now);

} // namespace berth::controllers
