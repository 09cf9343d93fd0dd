// Whether a user may do what a request asks, and the 403 that says no. Source: apiserver
// authorization/authorizer and endpoints/handlers/responsewriters/errors.go.
#pragma once

#include <string>
#include <string_view>

#include "berth/server/request_info.h"
#include "berth/server/status.h"
#include "berth/server/user.h"

namespace berth::server {

struct Decision {
  bool allowed = false;
  std::string
      reason; ///< by what it is allowed, or what was not found on the way to a no; mostly ""
};

/// The request as authorization sees it: a list or watch of one name (fieldSelector
/// metadata.name=NAME) names that object. A deletecollection never does: Kubernetes' RBAC cannot
/// restrict it by name.
RequestInfo named_by_selector(RequestInfo info, const net::HttpHeaders& query);

/// pods "x" is forbidden: User "u" cannot delete resource "pods" in API group "" in the namespace
/// "ns": REASON
Status forbidden(const User& user, const RequestInfo& what, std::string_view reason);

bool is_master(const User& user);
bool in_group(const User& user, std::string_view group);

} // namespace berth::server
