// Acting as somebody else: the Impersonate-* headers. Source: apiserver
// endpoints/filters/impersonation.go.
#pragma once

#include <functional>
#include <optional>

#include "berth/net/http.h"
#include "berth/server/access/decision.h"
#include "berth/server/status.h"
#include "berth/server/user.h"

namespace berth::server {

/// Judges one thing that the requestor wants to be.
using Judge = std::function<Decision(const RequestInfo& what)>;

/// Whom the headers name; none if they name nobody. Errors: 403 for a user, group, uid or extra
/// value that the requestor may not impersonate, 500 for groups, uid or extra without a user.
Answer<std::optional<User>> impersonated(const net::HttpRequest& request, const User& requestor,
                                         const Judge& judge);

} // namespace berth::server
