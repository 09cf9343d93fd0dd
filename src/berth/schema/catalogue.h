// The built-in kinds of Kubernetes 1.34: what is served, and the type of every object. The types
// come from the package @kubernetes/client-node, whose models are generated from Kubernetes' own
// OpenAPI document; schemas/ says what is added to them.
//
//   const Catalogue& known = Catalogue::builtin();
//   for (const Resource& r : known.resources()) ...        // discovery
//   const Resource* pods = known.resource("", "v1", "pods");
//   decode_body(bytes, {pods->gvk(), *pods->type}, FieldValidation::Strict); // body.h
//   TypePtr eviction = known.type({"policy", "v1", "Eviction"});
//
// Resources of CustomResourceDefinitions are made by custom_resource.h; they have the same shape.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/kinds.h"
#include "berth/base/result.h"
#include "berth/schema/arena.h"
#include "berth/schema/resource.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// Immutable; safe to share between threads.
class Catalogue {
 public:
  /// What is compiled into the program. Read at the first call (milliseconds), then kept.
  static const Catalogue& builtin();
  /// Reads a bundle that schemas/bundle.mjs wrote. Error Invalid names the type and the field.
  static Result<Catalogue> parse(std::string_view bundle);

  /// "1.34.0": the Kubernetes whose types these are.
  const std::string& version() const { return version_; }
  /// Groups in the order of discovery, resources by name within one.
  std::span<const Resource> resources() const { return resources_; }
  /// nullptr if it is not served. O(resources).
  const Resource* resource(std::string_view group, std::string_view version,
                           std::string_view plural) const;
  const Resource* resource_of(const api::GroupVersionKind& gvk) const;

  /// The type of any built-in object: served kinds, their lists, and those that stand in bodies
  /// alone (Status, DeleteOptions, Scale, Eviction, TokenRequest, ...). null if unknown.
  TypePtr type(const api::GroupVersionKind& gvk) const;
  /// "io.k8s.api.core.v1.PodSpec"; null if unknown.
  TypePtr named(std::string_view name) const;
  /// Group and version of a named type's package: {"apps", "v1", "Deployment"}; kind "" if the name
  /// is none of an object.
  api::GroupVersionKind gvk_of(const Type& type) const;
  /// Every named type, by name.
  std::vector<const Type*> types() const;

 private:
  struct Package {
    std::string name;
    std::string group;
    std::string version;
  };

  std::string version_;
  std::vector<Package> packages_;
  std::vector<Resource> resources_;
  std::shared_ptr<const Arena> arena_;
};

} // namespace berth::schema
