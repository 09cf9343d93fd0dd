#include "berth/store/workload_validation.h"

#include <array>

#include <fmt/format.h>

#include "berth/api/same.h"
#include "berth/api/selector.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/share_validation.h"
#include "berth/store/validation/pod.h"

namespace berth::store {
namespace {

using api::json::object;
using api::json::value;

/// What may change in a StatefulSet.
constexpr std::array<std::string_view, 7> kMutable = {"replicas",
                                                      "ordinals",
                                                      "template",
                                                      "updateStrategy",
                                                      "revisionHistoryLimit",
                                                      "minReadySeconds",
                                                      "persistentVolumeClaimRetentionPolicy"};

bool is_workload(const GroupKind& kind) {
  return kind.group == "apps" && (kind.kind == "StatefulSet" || kind.kind == "DaemonSet");
}

const value* at(const api::Object& object, std::string_view path) {
  return api::find_path(object.json(), path);
}

void check_not_negative(const api::Object& object, std::string_view path, FieldErrors& errors) {
  const value* number = at(object, path);
  if (number != nullptr && number->is_int64() && number->get_int64() < 0) {
    errors.push_back(invalid_value(std::string(path), fmt::to_string(number->get_int64()),
                                   "must be greater than or equal to 0"));
  }
}

std::string_view word_for_empty(const GroupKind& kind) {
  return kind.kind == "StatefulSet" ? "statefulset" : "daemonset";
}

void check_selector(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors) {
  const value* selector = at(object, "spec.selector");
  if (selector == nullptr) {
    errors.push_back(required_field("spec.selector"));
    return;
  }
  const auto parsed = api::parse_label_selector(*selector);
  if (parsed && parsed->empty()) {
    errors.push_back(invalid_value(
        "spec.selector", api::to_json(*selector),
        fmt::format("empty selector is invalid for {}", word_for_empty(request.kind))));
    return;
  }
  api::Labels labels;
  const value* given = at(object, "spec.template.metadata.labels");
  if (given != nullptr && given->is_object()) {
    for (const auto& label : given->get_object()) {
      labels[std::string(label.key())] = text_at(given->get_object(), label.key());
    }
  }
  if (!parsed || !parsed->matches(labels)) {
    errors.push_back(invalid_value("spec.template.metadata.labels",
                                   given == nullptr ? "null" : api::to_json(*given),
                                   "`selector` does not match template `labels`"));
  }
}

void check_template(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors) {
  const value* spec = at(object, "spec.template.spec");
  if (spec == nullptr || !spec->is_object()) {
    errors.push_back(required_field("spec.template.spec.containers"));
    return;
  }
  if (request.kind.kind != "StatefulSet") { // its claims are volumes that the template lacks
    check_pod_spec(Judged(spec, "spec.template.spec", errors), "");
  }
  const std::string_view restart = api::string_at(*spec, "restartPolicy");
  if (restart != "Always") {
    errors.push_back(
        unsupported_value("spec.template.spec.restartPolicy", quote(restart), {"Always"}));
  }
  if (api::find(*spec, "activeDeadlineSeconds") != nullptr) {
    errors.push_back(forbidden_field(
        "spec.template.spec.activeDeadlineSeconds",
        fmt::format("activeDeadlineSeconds in {} is not Supported", request.kind.kind)));
  }
}

void check_daemon_set(const api::Object& object, FieldErrors& errors) {
  constexpr const char* kRolling = "spec.updateStrategy.rollingUpdate";
  const std::string_view type = api::string_at(object.json(), "spec.updateStrategy.type");
  if (type == "OnDelete") {
    return;
  }
  if (type != "RollingUpdate") {
    errors.push_back(
        unsupported_value("spec.updateStrategy.type", quote(type), {"OnDelete", "RollingUpdate"}));
    return;
  }
  const value* rolling = at(object, kRolling);
  if (rolling == nullptr) {
    errors.push_back(required_field(kRolling));
    return;
  }
  const value* most = api::find(*rolling, "maxUnavailable");
  const value* surge = api::find(*rolling, "maxSurge");
  for (const auto& [share, name] : {std::pair(most, "maxUnavailable"), {surge, "maxSurge"}}) {
    if (share != nullptr) {
      check_share(*share, fmt::format("{}.{}", kRolling, name), errors);
    }
  }
  if (!is_zero_share(most) && !is_zero_share(surge)) {
    errors.push_back(invalid_value(fmt::format("{}.maxSurge", kRolling), api::to_json(*surge),
                                   "may not be set when maxUnavailable is non-zero"));
  } else if (is_zero_share(most) && is_zero_share(surge)) {
    errors.push_back(invalid_value(fmt::format("{}.maxUnavailable", kRolling),
                                   most == nullptr ? "0" : api::to_json(*most),
                                   "cannot be 0 when maxSurge is 0"));
  }
}

void check_retention(const api::Object& object, FieldErrors& errors) {
  for (const char* field : {"whenDeleted", "whenScaled"}) {
    const std::string path = fmt::format("spec.persistentVolumeClaimRetentionPolicy.{}", field);
    const std::string_view given = api::string_at(object.json(), path);
    if (given != "Delete" && given != "Retain") {
      errors.push_back(unsupported_value(path, quote(given), {"Delete", "Retain"}));
    }
  }
}

void check_stateful_set(const api::Object& object, FieldErrors& errors) {
  const std::string_view management = api::string_at(object.json(), "spec.podManagementPolicy");
  if (management != "OrderedReady" && management != "Parallel") {
    errors.push_back(invalid_value("spec.podManagementPolicy", quote(management),
                                   "must be 'OrderedReady' or 'Parallel'"));
  }
  const std::string_view type = api::string_at(object.json(), "spec.updateStrategy.type");
  const value* rolling = at(object, "spec.updateStrategy.rollingUpdate");
  if (type == "OnDelete") {
    if (rolling != nullptr) {
      errors.push_back(invalid_value("spec.updateStrategy.rollingUpdate", api::to_json(*rolling),
                                     "only allowed for updateStrategy 'RollingUpdate'"));
    }
  } else if (type == "RollingUpdate") {
    check_not_negative(object, "spec.updateStrategy.rollingUpdate.partition", errors);
  } else {
    errors.push_back(
        invalid_value("spec.updateStrategy", quote(type), "must be 'RollingUpdate' or 'OnDelete'"));
  }
  check_not_negative(object, "spec.ordinals.start", errors);
  check_retention(object, errors);
}

bool same(const value* a, const value* b) {
  return a == b || (a != nullptr && b != nullptr && api::same(*a, *b));
}

/// The spec without what may change.
object fixed_part(const api::Object& set) {
  const value* spec = at(set, "spec");
  object rest = spec != nullptr && spec->is_object() ? spec->get_object() : object();
  for (const std::string_view field : kMutable) {
    rest.erase(field);
  }
  return rest;
}

void check_changes(const AdmissionRequest& request, const api::Object& object,
                   FieldErrors& errors) {
  if (request.kind.kind == "StatefulSet") {
    if (fixed_part(*request.before) != fixed_part(object)) {
      errors.push_back(forbidden_field(
          "spec", "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                  "'template', 'updateStrategy', 'revisionHistoryLimit', "
                  "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
    }
    return;
  }
  const value* now = at(object, "spec.selector");
  if (!same(at(*request.before, "spec.selector"), now)) {
    errors.push_back(invalid_value("spec.selector", now == nullptr ? "null" : api::to_json(*now),
                                   "field is immutable"));
  }
}

} // namespace

Result<void> check_workload(const AdmissionRequest& request, const api::Object& object) {
  if (!is_workload(request.kind) || request.subresource == Subresource::Status) {
    return {};
  }
  FieldErrors errors;
  for (const char* path : {"spec.replicas", "spec.minReadySeconds", "spec.revisionHistoryLimit"}) {
    check_not_negative(object, path, errors);
  }
  check_selector(request, object, errors);
  check_template(request, object, errors);
  if (request.kind.kind == "DaemonSet") {
    check_daemon_set(object, errors);
  } else if (request.kind.kind == "StatefulSet") {
    check_stateful_set(object, errors);
  }
  if (request.before != nullptr) {
    check_changes(request, object, errors);
  }
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
