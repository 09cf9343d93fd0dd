// Which service account tokens a node may have: those of pods that it runs. Source: kubernetes
// plugin/pkg/admission/noderestriction.
#pragma once

#include "berth/api/json.h"
#include "berth/server/access/impersonation.h"
#include "berth/store/registry.h"

namespace berth::server {

/// `body` is the TokenRequest for `account`. A node (group system:nodes) may have one that is bound
/// to a pod on it, by name and uid, for an audience that a token volume of the pod names or that
/// `judge` grants it (verb request-serviceaccounts-token-audience); everybody else what they may
/// ask for. Errors: 403 says what is missing, 404 that there is no such pod.
Answer<void> check_node_token(const store::Registry& registry, const User& user,
                              const api::Key& account, const api::json::value& body,
                              const Judge& judge);

} // namespace berth::server
