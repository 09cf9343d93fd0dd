// What an API server serves: one resource of one group and version, as discovery tells it. Source:
// metav1.APIResource, apidiscovery/v2.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/kinds.h"
#include "berth/schema/type.h"

namespace berth::schema {

struct Subresource {
  std::string name;           ///< "status", "scale", "binding"
  api::GroupVersionKind kind; ///< of its body: autoscaling/v1 Scale, or that of the resource
  std::vector<std::string> verbs;
};

/// One of additionalPrinterColumns of a custom resource's version.
struct PrinterColumn {
  std::string name;
  std::string type;        ///< string, integer, number, boolean, date
  std::string format;      ///< of the type: "int32", "password"; mostly ""
  std::string description; ///< "": the JSONPath stands for it
  int priority = 0;        ///< 1: only with -o wide
  std::string json_path;   ///< ".spec.replicas"
};

/// Where a custom resource keeps what its scale subresource shows: ".spec.replicas"; "" for none.
struct ScalePaths {
  std::string spec_replicas;
  std::string status_replicas;
  std::string label_selector;
};

struct CelRules; // cel_rules.h

struct Resource {
  std::string group; ///< "" for core
  std::string version;
  std::string kind;
  std::string plural;
  std::string singular;
  std::string list_kind; ///< "PodList"; "" where the resource cannot be listed
  api::Scope scope = api::Scope::Namespaced;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> verbs; ///< "create", "delete", ..., in discovery's order
  std::vector<Subresource> subresources;
  TypePtr type;            ///< of one object; never null
  std::string deprecation; ///< what those who use it are warned of; "": it is not deprecated
  bool custom = false;     ///< defined by a CustomResourceDefinition
  /// Of custom ones: the openAPIV3Schema as it was written, for OpenAPI.
  std::shared_ptr<const boost::json::value> schema;
  std::shared_ptr<const CelRules> rules; ///< of custom ones: never null
  ScalePaths scale;                      ///< of a custom resource with that subresource
  std::vector<std::string> selectable;   ///< of a custom resource: "spec.color"
  std::vector<PrinterColumn> columns;    ///< of a custom resource's tables; empty: Name and Age

  api::GroupVersionKind gvk() const { return {group, version, kind}; }
  bool namespaced() const { return scope == api::Scope::Namespaced; }
  /// null if there is none of that name.
  const Subresource* subresource(std::string_view name) const;
  bool can(std::string_view verb) const;
};

} // namespace berth::schema
