// A request as admission policies see it. Source: admission.Attributes; admission/v1
// AdmissionRequest.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "berth/api/kinds.h"
#include "berth/server/user.h"

namespace berth::server {

/// What it points to outlives it.
struct Review {
  std::string operation;        ///< "CREATE", "UPDATE", "DELETE", "CONNECT"
  api::GroupVersionKind kind;   ///< of `object`
  api::GroupVersionKind served; ///< group and version asked for; its kind means nothing
  std::string resource;         ///< "deployments"
  std::string subresource;      ///< "status"; "" for none
  std::string name;
  std::string ns; ///< of a namespace itself: its name; "" of what has none
  const boost::json::value* object = nullptr; ///< null: it is deleted
  const boost::json::value* before = nullptr; ///< null: it is created, or connected to
  boost::json::value options;                 ///< CreateOptions, ...
  bool dry_run = false;
  const User* user = nullptr;

  bool of_namespace() const { return resource == "namespaces" && kind.group.empty(); }
};

} // namespace berth::server
