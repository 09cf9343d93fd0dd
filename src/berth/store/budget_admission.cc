#include "berth/store/budget_admission.h"

#include <fmt/format.h>

#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/share_validation.h"

namespace berth::store {
namespace {

using api::json::object;
using api::json::value;

const GroupKind kBudget{"policy", "PodDisruptionBudget"};

} // namespace

Result<void> default_budget(const AdmissionRequest& request, value& document) {
  if (request.kind == kBudget) {
    set_default(document.as_object(), "status",
                object{{"disruptionsAllowed", 0},
                       {"currentHealthy", 0},
                       {"desiredHealthy", 0},
                       {"expectedPods", 0}});
  }
  return {};
}

Result<void> check_budget(const AdmissionRequest& request, const api::Object& object) {
  const value* spec = api::find(object.json(), "spec");
  if (request.kind != kBudget || request.subresource == Subresource::Status || spec == nullptr) {
    return {};
  }
  FieldErrors errors;
  const value* least = api::find(*spec, "minAvailable");
  const value* most = api::find(*spec, "maxUnavailable");
  if (least != nullptr && most != nullptr) {
    errors.push_back(invalid_value("spec", api::to_json(*spec),
                                   "minAvailable and maxUnavailable cannot be both set"));
  }
  if (least != nullptr) {
    check_share(*least, "spec.minAvailable", errors);
  }
  if (most != nullptr) {
    check_share(*most, "spec.maxUnavailable", errors);
  }
  const value* policy = api::find(*spec, "unhealthyPodEvictionPolicy");
  const std::string_view word = api::string_at(*spec, "unhealthyPodEvictionPolicy");
  if (policy != nullptr && word != "AlwaysAllow" && word != "IfHealthyBudget") {
    errors.push_back(unsupported_value("spec.unhealthyPodEvictionPolicy", quote(word),
                                       {"AlwaysAllow", "IfHealthyBudget"}));
  }
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
