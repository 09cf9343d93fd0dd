#include "berth/store/job_admission.h"

#include <array>

#include <fmt/format.h>

#include "berth/api/selector.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/pod_defaults.h"
#include "berth/store/pod_validation.h"

namespace berth::store {
namespace {

using api::json::object;

constexpr std::int64_t kMaxIndexedParallelism = 100'000;
constexpr std::string_view kUidLabel = "batch.kubernetes.io/controller-uid";

void default_numbers(object& spec) {
  if (!has(spec, "completions") && !has(spec, "parallelism")) {
    spec["completions"] = 1;
    spec["parallelism"] = 1;
  }
  set_default(spec, "parallelism", 1);
  set_default(spec, "backoffLimit", has(spec, "backoffLimitPerIndex") ? INT32_MAX : 6);
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  set_default(spec, "manualSelector", false);
  set_default(spec, "podReplacementPolicy",
              has(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
}

/// The selector that only this Job's pods match, and the labels that make them match.
void generate_selector(object& spec, std::string_view name, std::string_view uid) {
  const api::json::value* manual = spec.if_contains("manualSelector");
  if (manual != nullptr && manual->is_bool() && manual->get_bool()) {
    return;
  }
  object& selector = api::object_at(spec, "selector");
  api::object_at(selector, "matchLabels")[kUidLabel] = uid;
  object& labels =
      api::object_at(api::object_at(api::object_at(spec, "template"), "metadata"), "labels");
  labels[kUidLabel] = uid;
  labels["batch.kubernetes.io/job-name"] = name;
  labels["controller-uid"] = uid;
  labels["job-name"] = name;
}

/// A Job without labels has those of its template.
void inherit_labels(object& job) {
  object* spec = object_in(job, "spec");
  object* pod = spec == nullptr ? nullptr : object_in(*spec, "template");
  object* meta = pod == nullptr ? nullptr : object_in(*pod, "metadata");
  const object* labels = meta == nullptr ? nullptr : object_in(*meta, "labels");
  object& own = api::object_at(job, "metadata");
  if (labels != nullptr && !has(own, "labels")) {
    own["labels"] = *labels;
  }
}

void check_not_negative(const object& spec, FieldErrors& errors) {
  for (const std::string_view field : {"parallelism", "completions", "activeDeadlineSeconds",
                                       "backoffLimit", "ttlSecondsAfterFinished"}) {
    const api::json::value* value = spec.if_contains(field);
    if (value != nullptr && value->is_int64() && value->get_int64() < 0) {
      errors.push_back(invalid_value(fmt::format("spec.{}", field),
                                     fmt::to_string(value->get_int64()),
                                     "must be greater than or equal to 0"));
    }
  }
}

void check_mode(const object& spec, FieldErrors& errors) {
  const std::string_view mode = text_at(spec, "completionMode");
  if (mode != "Indexed" && mode != "NonIndexed") {
    errors.push_back(
        unsupported_value("spec.completionMode", quote(mode), {"Indexed", "NonIndexed"}));
    return;
  }
  if (mode == "NonIndexed") {
    return;
  }
  if (!has(spec, "completions")) {
    errors.push_back(required_field("spec.completions", "when completion mode is Indexed"));
  }
  const api::json::value* parallelism = spec.if_contains("parallelism");
  if (parallelism != nullptr && parallelism->is_int64() &&
      parallelism->get_int64() > kMaxIndexedParallelism) {
    errors.push_back(invalid_value(
        "spec.parallelism", fmt::to_string(parallelism->get_int64()),
        fmt::format("must be less than or equal to {} when completion mode is Indexed",
                    kMaxIndexedParallelism)));
  }
}

/// The selector must be the generated one, unless the author takes charge with manualSelector.
void check_selector(const api::Object& object, FieldErrors& errors) {
  const api::json::value* selector = api::find_path(object.json(), "spec.selector");
  const api::json::value* labels = api::find_path(object.json(), "spec.template.metadata.labels");
  if (selector == nullptr) {
    errors.push_back(required_field("spec.selector"));
    return;
  }
  const api::json::value* manual = api::find_path(object.json(), "spec.manualSelector");
  const bool generated = manual == nullptr || !manual->is_bool() || !manual->get_bool();
  const api::json::value wanted{{"matchLabels", {{kUidLabel, object.meta().uid}}}};
  if (generated && *selector != wanted) {
    errors.push_back(
        invalid_value("spec.selector", api::to_json(*selector), "`selector` not auto-generated"));
  }
  api::Labels held;
  if (labels != nullptr && labels->is_object()) {
    for (const auto& label : labels->get_object()) {
      held[label.key()] = text_at(labels->get_object(), label.key());
    }
  }
  const auto parsed = api::parse_label_selector(*selector);
  if (parsed && !parsed->matches(held)) {
    errors.push_back(invalid_value("spec.template.metadata.labels",
                                   labels == nullptr ? "null" : api::to_json(*labels),
                                   "`selector` does not match template `labels`"));
  }
}

void check_template(const api::Object& object, FieldErrors& errors) {
  const api::json::value* spec = api::find_path(object.json(), "spec.template.spec");
  const std::string_view restart = spec == nullptr ? "" : api::string_at(*spec, "restartPolicy");
  if (spec != nullptr) {
    check_pod_template_spec(*spec, "spec.template.spec", errors);
  } else {
    errors.push_back(required_field("spec.template.spec.containers"));
  }
  if (restart.empty() || restart == "Always") {
    errors.push_back(required_field("spec.template.spec.restartPolicy",
                                    "valid values: \"OnFailure\", \"Never\""));
  } else if (restart != "OnFailure" && restart != "Never") {
    errors.push_back(unsupported_value("spec.template.spec.restartPolicy", quote(restart),
                                       {"OnFailure", "Never"}));
  }
}

/// Only scheduling directives of the template may change, and only while the Job is suspended and
/// has not started.
bool template_may_change(const api::Object& before, const api::json::value& now) {
  const api::json::value* suspend = api::find_path(before.json(), "spec.suspend");
  const bool suspended = suspend != nullptr && suspend->is_bool() && suspend->get_bool();
  if (!suspended || api::find_path(before.json(), "status.startTime") != nullptr) {
    return false;
  }
  const auto without_directives = [](api::json::value held) {
    object& whole = held.as_object();
    if (object* spec = object_in(whole, "spec")) {
      for (const std::string_view field :
           {"nodeSelector", "affinity", "tolerations", "schedulingGates"}) {
        spec->erase(field);
      }
    }
    if (object* meta = object_in(whole, "metadata")) {
      meta->erase("labels");
      meta->erase("annotations");
    }
    return held;
  };
  const api::json::value* old = api::find_path(before.json(), "spec.template");
  return old != nullptr && old->is_object() && now.is_object() &&
         without_directives(*old) == without_directives(now);
}

void check_immutable(const api::Object& before, const api::Object& now, FieldErrors& errors) {
  const bool indexed = api::string_at(before.json(), "spec.completionMode") == "Indexed";
  for (const std::string_view field : {"completions", "selector", "template", "completionMode"}) {
    const std::string path = fmt::format("spec.{}", field);
    const api::json::value* old = api::find_path(before.json(), path);
    const api::json::value* next = api::find_path(now.json(), path);
    if (old == next || (old != nullptr && next != nullptr && *old == *next)) {
      continue;
    }
    // Elastic indexed Jobs: completions may follow parallelism.
    const api::json::value* parallelism = api::find_path(now.json(), "spec.parallelism");
    if (field == "completions" && indexed && next != nullptr && parallelism != nullptr &&
        *next == *parallelism) {
      continue;
    }
    if (field == "template" && next != nullptr && template_may_change(before, *next)) {
      continue;
    }
    errors.push_back(
        invalid_value(path, next == nullptr ? "null" : api::to_json(*next), "field is immutable"));
  }
}

} // namespace

Result<void> default_job(const AdmissionRequest& request, api::json::value& document) {
  object& whole = document.as_object();
  object* spec = object_in(whole, "spec");
  if (request.kind != kJobs || spec == nullptr) {
    return {};
  }
  default_numbers(*spec);
  set_default(whole, "status", object());
  object* pod = object_in(*spec, "template");
  if (object* pod_spec = pod == nullptr ? nullptr : object_in(*pod, "spec")) {
    default_pod_spec(*pod_spec);
  }
  inherit_labels(whole);
  return {};
}

Result<void> generate_job_selector(const AdmissionRequest& request, api::json::value& document) {
  object& whole = document.as_object();
  object* spec = object_in(whole, "spec");
  if (request.kind != kJobs || spec == nullptr ||
      request.operation != AdmissionRequest::Operation::Create) {
    return {};
  }
  generate_selector(*spec, api::string_at(document, "metadata.name"),
                    api::string_at(document, "metadata.uid"));
  inherit_labels(whole);
  return {};
}

Result<void> check_job(const AdmissionRequest& request, const api::Object& object) {
  if (request.kind != kJobs || request.subresource == Subresource::Status) {
    return {};
  }
  FieldErrors errors;
  const api::json::value* spec = api::find(object.json(), "spec");
  if (spec == nullptr || !spec->is_object()) {
    errors.push_back(required_field("spec.template.spec.containers"));
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  check_not_negative(spec->get_object(), errors);
  check_mode(spec->get_object(), errors);
  if (request.before == nullptr) {
    check_selector(object, errors);
    check_template(object, errors);
  } else {
    check_immutable(*request.before, object, errors);
  }
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
