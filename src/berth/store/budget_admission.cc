#include "berth/store/budget_admission.h"

#include <fmt/format.h>

#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/share_validation.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/judged.h"

namespace berth::store {
namespace {

using api::json::object;
using api::json::value;

const GroupKind kBudget{"policy", "PodDisruptionBudget"};

/// As Go's encoding/json writes what the API server holds of it.
std::string spec_text(const Judged& spec) {
  const auto text = [&](std::string_view member) {
    return spec.has(member) ? api::to_json(*spec[member].json()) : "null";
  };
  return fmt::format(
      R"({{"MinAvailable":{},"Selector":{},"MaxUnavailable":{},"UnhealthyPodEvictionPolicy":{}}})",
      text("minAvailable"), text("selector"), text("maxUnavailable"),
      text("unhealthyPodEvictionPolicy"));
}

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

void check_budget(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  if (request.kind != kBudget || request.subresource == Subresource::Status || !spec) {
    return;
  }
  if (spec.has("minAvailable") && spec.has("maxUnavailable")) {
    spec.invalid(spec_text(spec), "minAvailable and maxUnavailable cannot be both set");
  }
  for (const std::string_view share : {"minAvailable", "maxUnavailable"}) {
    if (spec.has(share)) {
      check_share(*spec[share].json(), spec[share].path(), errors);
    }
  }
  check_label_selector(spec["selector"]);
  if (const Judged policy = spec["unhealthyPodEvictionPolicy"];
      policy && policy.text() != "AlwaysAllow" && policy.text() != "IfHealthyBudget") {
    policy.unsupported({"AlwaysAllow", "IfHealthyBudget"});
  }
}

} // namespace berth::store
