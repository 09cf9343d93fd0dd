// Nobody grants what they do not hold: writes of roles and bindings, judged by the writer's own
// rights. Source: kubernetes pkg/registry/rbac/*/policybased/storage.go, escalation_check.go,
// validation/rule.go ConfirmNoEscalation.
#pragma once

#include "berth/api/object.h"
#include "berth/server/access/rbac.h"
#include "berth/server/request_info.h"
#include "berth/server/status.h"
#include "berth/server/user.h"

namespace berth::server {

/// A create, update or patch whose request is authorized already.
struct GrantingWrite {
  const User& user;
  const RequestInfo& info;
  const api::Object& object;           ///< as it would be stored
  const api::Object* before = nullptr; ///< of an update
};

/// Objects of other kinds pass. Errors: Forbidden names the rules that the user lacks; NotFound for
/// a binding to a role that is not there. system:masters, the verb escalate on the role and the
/// verb bind on the role bound to pass; so do updates that change no rights.
Answer<void> check_escalation(const Rbac& rbac, const GrantingWrite& write);

} // namespace berth::server
