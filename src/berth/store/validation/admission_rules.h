// Configuration of admission: webhooks and policies. Source:
// kubernetes/pkg/apis/admissionregistration/validation and .../v1/defaults.go.
#pragma once

#include "berth/store/admission.h"
#include "berth/store/validation/judged.h"
#include "berth/store/validation/policy_expressions.h"

namespace berth::store {

/// {Validating,Mutating}WebhookConfiguration, ValidatingAdmissionPolicy and its binding.
Result<void> default_admission_rules(const AdmissionRequest& request, api::json::value& document);
void check_admission_rules(const AdmissionRequest& request, const api::Object& object,
                           FieldErrors& errors);

/// One rule of a webhook or a policy: operations, groups, versions, resources, scope.
void check_admission_rule(const Judged& rule);
/// `of`.matchConditions: names and expressions, which may name `params` if there are any.
void check_match_conditions(const Judged& of, PolicyScope::Params params);

} // namespace berth::store
