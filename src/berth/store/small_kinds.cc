#include "berth/store/small_kinds.h"

#include <fmt/format.h>

#include "berth/model/workload.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"

namespace berth::store {
namespace {

/// Who empties a namespace before it goes: the namespace controller. It alone takes itself off, and
/// only from a namespace that is deleted.
void keep_content_finalizers(const AdmissionRequest& request, api::json::object& whole) {
  if (request.before == nullptr) {
    api::object_at(whole, "spec")["finalizers"] = api::json::array{"kubernetes"};
    return;
  }
  const api::json::value* held = api::find_path(request.before->json(), "spec.finalizers");
  if (held != nullptr && !request.before->meta().deletion_timestamp) {
    api::object_at(whole, "spec")["finalizers"] = *held;
  }
}

void check_lease(const api::Object& object, FieldErrors& errors) {
  const api::json::value* duration = api::find_path(object.json(), "spec.leaseDurationSeconds");
  if (duration != nullptr && duration->is_int64() && duration->get_int64() <= 0) {
    errors.push_back(invalid_value("spec.leaseDurationSeconds",
                                   fmt::to_string(duration->get_int64()),
                                   "must be greater than 0"));
  }
}

void check_quota(const api::Object& object, FieldErrors& errors) {
  const auto quota = model::resource_quota_view(object);
  if (!quota) {
    return; // check_decodable says why
  }
  for (const auto& [name, limit] : (*quota)->hard) {
    if (limit.sign() < 0) {
      errors.push_back(invalid_value(fmt::format("spec.hard[{}]", name), quote(limit.to_string()),
                                     "must be greater than or equal to 0"));
    }
  }
}

} // namespace

Result<void> default_small_kinds(const AdmissionRequest& request, api::json::value& document) {
  api::json::object& whole = document.as_object();
  if (request.kind == kNamespaces) {
    api::json::object& meta = api::object_at(whole, "metadata");
    api::object_at(meta, "labels")["kubernetes.io/metadata.name"] =
        api::json::value(text_at(meta, "name"));
    keep_content_finalizers(request, whole);
    set_default(api::object_at(whole, "status"), "phase", "Active");
  } else if (request.kind == kResourceQuotas) {
    set_default(whole, "status", api::json::object());
  }
  return {};
}

Result<void> check_small_kinds(const AdmissionRequest& request, const api::Object& object) {
  FieldErrors errors;
  if (request.kind == kLeases) {
    check_lease(object, errors);
  } else if (request.kind == kResourceQuotas) {
    check_quota(object, errors);
  }
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
