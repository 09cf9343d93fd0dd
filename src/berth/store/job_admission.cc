#include "berth/store/job_admission.h"

#include "berth/store/document.h"
#include "berth/store/pod_defaults.h"

namespace berth::store {
namespace {

using api::json::object;

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

} // namespace berth::store
