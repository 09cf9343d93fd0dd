// The roles and bindings that every cluster begins with. Source: kubernetes
// plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, of 1.34.
#pragma once

#include <vector>

#include "berth/base/time.h"
#include "berth/server/access/rbac_objects.h"
#include "berth/store/registry.h"

namespace berth::server {

/// ClusterRoles and ClusterRoleBindings as documents: cluster-admin, admin, edit, view and what
/// they aggregate, system:discovery, system:basic-user, ... Unlike Kubernetes', system:node is
/// bound to the group system:nodes, for there is no node authorizer here.
std::vector<api::json::value> bootstrap_policy();

/// Creates what is missing, and adds missing rules, subjects, labels and annotations to what is
/// there, unless its annotation rbac.authorization.kubernetes.io/autoupdate is "false". Harmless
/// when repeated.
Result<void> ensure_bootstrap_policy(store::Registry& registry, TimePoint now);

} // namespace berth::server
