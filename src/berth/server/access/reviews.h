// Questions about access, answered in the document that asks: kubectl auth can-i, kubectl auth
// whoami, and components that leave deciding to the API server. Source: kubernetes
// pkg/registry/authorization, pkg/registry/authentication, their validation.
#pragma once

#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "berth/base/time.h"
#include "berth/server/access/authentication.h"
#include "berth/server/access/rbac.h"
#include "berth/server/status.h"
#include "berth/server/user.h"

namespace berth::server {

/// Each takes the body as decoded by its type and returns it with its status. Errors: Invalid and
/// BadRequest in Kubernetes' words.
Answer<boost::json::object> review_access(const Rbac& rbac, const boost::json::value& body);
/// LocalSubjectAccessReview: `ns` is that of the path.
Answer<boost::json::object> review_local_access(const Rbac& rbac, const std::string& ns,
                                                const boost::json::value& body);
Answer<boost::json::object> review_own_access(const Rbac& rbac, const User& user,
                                              const boost::json::value& body);
/// SelfSubjectRulesReview.
Answer<boost::json::object> review_own_rules(const Rbac& rbac, const User& user,
                                             const boost::json::value& body);
Answer<boost::json::object> review_token(const Authenticator& authenticator,
                                         const boost::json::value& body, TimePoint now);
/// SelfSubjectReview: who am I.
boost::json::object review_self(const User& user, TimePoint now);

/// authentication.k8s.io/v1 UserInfo.
boost::json::object user_info(const User& user);

} // namespace berth::server
