// Roles and bindings as values, decoded from their objects, and what a rule allows. Source:
// rbac.authorization.k8s.io/v1, kubernetes pkg/apis/rbac/v1/evaluation_helpers.go.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>

#include "berth/api/object.h"
#include "berth/server/request_info.h"
#include "berth/store/request.h"

namespace berth::api {
class Field;
}

namespace berth::server {

inline constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
inline const store::GroupKind kRoles{"rbac.authorization.k8s.io", "Role"};
inline const store::GroupKind kClusterRoles{"rbac.authorization.k8s.io", "ClusterRole"};
inline const store::GroupKind kRoleBindings{"rbac.authorization.k8s.io", "RoleBinding"};
inline const store::GroupKind kClusterRoleBindings{"rbac.authorization.k8s.io",
                                                   "ClusterRoleBinding"};

struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> api_groups;
  std::vector<std::string> resources; ///< "pods", "pods/log", "*/scale", "*"
  std::vector<std::string> resource_names;
  std::vector<std::string> non_resource_urls; ///< "/healthz", "/apis/*", "*"

  bool operator==(const PolicyRule&) const = default;
};
using PolicyRules = std::vector<PolicyRule>;

/// O(words of the rule).
bool allows(const PolicyRule& rule, const RequestInfo& what);

struct RoleRef {
  std::string api_group;
  std::string kind; ///< "Role" or "ClusterRole"
  std::string name;

  bool operator==(const RoleRef&) const = default;
};

struct Subject {
  std::string kind; ///< "User", "Group", "ServiceAccount"
  std::string api_group;
  std::string name;
  std::string ns; ///< of a service account; "": that of the binding

  bool operator==(const Subject&) const = default;
};

/// A RoleBinding, or with ns "" a ClusterRoleBinding.
struct RoleBinding {
  std::string ns;
  std::string name;
  RoleRef role;
  std::vector<Subject> subjects;
};

/// Kubernetes' name of a service account as a user: system:serviceaccount:NS:NAME.
std::string account_user_name(std::string_view ns, std::string_view name);

void decode(const api::Field& in, PolicyRule& out);
void decode(const api::Field& in, RoleRef& out);
void decode(const api::Field& in, Subject& out);

/// Errors name the field. A document without rules has none.
Result<PolicyRules> rules_of(const api::json::value& role);
Result<RoleBinding> binding_of(const api::Object& object);
boost::json::array to_document(const PolicyRules& rules);

} // namespace berth::server
