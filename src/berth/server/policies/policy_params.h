// The objects that a binding of a policy names as its parameters. Source:
// apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go (CollectParams).
#pragma once

#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/server/resources.h"
#include "berth/store/registry.h"

namespace berth::server {

/// With one empty object where the policy is to be evaluated without parameters; none where it is
/// not to be evaluated. `param_ref`: null if the binding names none; `kind`: what the policy's
/// paramKind is served as; `ns`: of the request. Error: why the binding cannot be used.
Result<std::vector<api::Object>> params_of(const boost::json::value* param_ref,
                                           const schema::Resource& kind, const std::string& ns,
                                           const store::Registry& registry);

} // namespace berth::server
