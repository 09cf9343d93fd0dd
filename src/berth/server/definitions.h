// CustomResourceDefinitions at work: what they define is served as soon as they are stored, their
// status says so, and a definition that is deleted takes its objects along. Source:
// apiextensions-apiserver pkg/controller/{status,establish, finalizer}.
#pragma once

#include <memory>
#include <string>

#include "berth/base/loop.h"
#include "berth/schema/resource.h"
#include "berth/server/resources.h"
#include "berth/store/registry.h"

namespace berth::server {

inline const store::GroupKind kDefinitions{"apiextensions.k8s.io", "CustomResourceDefinition"};
/// Keeps a deleted definition until its objects are gone.
inline constexpr const char* kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/// Follows the store from the moment it is made; all must outlive it.
class Definitions {
 public:
  Definitions(Loop& loop, store::Registry& registry, Resources& resources);
  ~Definitions();
  Definitions(const Definitions&) = delete;
  Definitions& operator=(const Definitions&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Completes and judges what was decoded of a definition or of a custom resource; other kinds are
/// left to admission. `before` is empty on create. Error Invalid, with a cause for each field.
Result<void> judge_by_schema(const schema::Resource& resource, const api::Object& before,
                             api::json::value& document);

} // namespace berth::server
