#include "berth/store/validation/job.h"

#include <set>

#include "berth/api/selector.h"
#include "berth/store/document.h"
#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/job_policy.h"
#include "berth/store/validation/job_status.h"
#include "berth/store/validation/pod.h"
#include "berth/store/validation/spec_text.h"

namespace berth::store {
namespace {

constexpr std::int64_t kMaxIndexedParallelism = 100'000;
constexpr std::int64_t kMaxFailedIndexes = 100'000;
constexpr std::int64_t kManyCompletions = 100'000;
constexpr std::size_t kMaxManagedBy = 63;
constexpr std::string_view kUidLabel = "batch.kubernetes.io/controller-uid";

void check_managed_by(const Judged& manager) {
  if (!manager) {
    return;
  }
  const std::size_t slash = manager.text().find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == manager.text().size()) {
    manager.invalid("must be a domain-prefixed path (such as \"acme.io/foo\")");
  } else {
    manager.invalid(subdomain_errors(manager.text().substr(0, slash)));
  }
  if (manager.text().size() > kMaxManagedBy) {
    manager.too_long(kMaxManagedBy);
  }
}

void check_indexed(const Judged& spec) {
  const auto completions = spec.number("completions");
  const auto failed = spec.number("maxFailedIndexes");
  if (!completions) {
    spec["completions"].required("when completion mode is Indexed");
  }
  if (spec.number("parallelism").value_or(0) > kMaxIndexedParallelism) {
    spec["parallelism"].invalid(
        fmt::format("must be less than or equal to {} when completion mode is Indexed",
                    kMaxIndexedParallelism));
  }
  if (completions && failed && *failed > *completions) {
    spec["maxFailedIndexes"].invalid("must be less than or equal to completions");
  }
  if (failed && *failed > kMaxFailedIndexes) {
    spec["maxFailedIndexes"].invalid(
        fmt::format("must be less than or equal to {}", kMaxFailedIndexes));
  }
  if (completions.value_or(0) > kManyCompletions && spec.has("backoffLimitPerIndex") && !failed) {
    spec["maxFailedIndexes"].required(
        fmt::format("must be specified when completions is above {}", kManyCompletions));
  }
}

void check_mode(const Judged& spec) {
  const std::string_view mode = spec.text("completionMode");
  spec["completionMode"].one_of({"NonIndexed", "Indexed"});
  if (mode == "Indexed") {
    check_indexed(spec);
  } else if (mode == "NonIndexed" || mode.empty()) {
    for (const std::string_view field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
      if (spec.has(field)) {
        spec[field].invalid("requires indexed completion mode");
      }
    }
  }
}

void check_restart_policy(const Judged& spec) {
  const Judged policy = spec["template"]["spec"]["restartPolicy"];
  const std::string_view restart = policy.text();
  if (restart.empty() || restart == "Always") {
    policy.required("valid values: \"OnFailure\", \"Never\"");
  } else if (restart != "OnFailure" && restart != "Never") {
    policy.unsupported({"OnFailure", "Never"});
  } else if (restart != "Never") {
    for (const std::string_view field : {"podFailurePolicy", "backoffLimitPerIndex"}) {
      if (spec.has(field)) {
        policy.invalid(fmt::format("only \"Never\" is supported when {} is specified", field));
      }
    }
  }
}

api::Labels labels_of(const Judged& labels) {
  api::Labels held;
  for (const std::string& name : labels.names()) {
    held[name] = labels.text(name);
  }
  return held;
}

/// The selector must be the generated one, unless the author takes charge with manualSelector.
void check_generated_selector(const api::Object& job, const Judged& spec) {
  if (spec.is_true("manualSelector") || !spec.has("selector")) {
    return;
  }
  const api::json::value wanted{{"matchLabels", {{kUidLabel, job.meta().uid}}}};
  if (*spec["selector"].json() != wanted) {
    spec["selector"].invalid("`selector` not auto-generated");
  }
}

void check_selector(const Judged& spec) {
  const Judged selector = spec["selector"];
  if (!selector) {
    selector.required();
    return;
  }
  check_label_selector(selector);
  const Judged labels = spec["template"]["metadata"]["labels"];
  const auto parsed = api::parse_label_selector(*selector.json());
  if (parsed && !parsed->matches(labels_of(labels))) {
    labels.invalid(labels ? api::to_json(*labels.json()) : "null",
                   "`selector` does not match template `labels`");
  }
}

void check_index_names(const api::Object& job, const Judged& spec) {
  const std::int64_t completions = spec.number("completions").value_or(0);
  if (spec.text("completionMode") != "Indexed" || completions <= 0) {
    return;
  }
  const std::string host = fmt::format("{}-{}", job.meta().name, completions - 1);
  if (!label_name_errors(host).empty()) {
    spec.errors().push_back(
        invalid_value("metadata.name", quote(job.meta().name),
                      "will not able to create pod with invalid DNS label: " + host));
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
    api::json::object& whole = held.as_object();
    if (api::json::object* spec = object_in(whole, "spec")) {
      for (const std::string_view field :
           {"nodeSelector", "affinity", "tolerations", "schedulingGates"}) {
        spec->erase(field);
      }
    }
    if (api::json::object* meta = object_in(whole, "metadata")) {
      meta->erase("labels");
      meta->erase("annotations");
    }
    return held;
  };
  const api::json::value* old = api::find_path(before.json(), "spec.template");
  return old != nullptr && old->is_object() && now.is_object() &&
         without_directives(*old) == without_directives(now);
}

void check_completions_change(const Judged& before, const Judged& now) {
  if (now.text("completionMode") != "Indexed") {
    check_immutable(before, now, "completions");
    return;
  }
  const auto completions = now.number("completions");
  if (differ(before, now, "completions") && completions &&
      *completions != now.number("parallelism").value_or(0)) {
    now["completions"].invalid("can only be modified in tandem with spec.parallelism");
  }
}

void check_changes(const api::Object& old, const Judged& now) {
  const Judged before(api::find(old.json(), "spec"), "spec", now.errors());
  check_completions_change(before, now);
  check_immutable(before, now, "selector");
  if (!now.has("template") || !template_may_change(old, *now["template"].json())) {
    if (differ(before, now, "template")) {
      const Judged pod = now["template"];
      const auto shown = pod ? template_text(*pod.json()) : std::nullopt;
      pod.invalid(shown ? *shown : (pod ? api::to_json(*pod.json()) : "null"),
                  "field is immutable");
    }
  }
  for (const std::string_view field : {"completionMode", "podFailurePolicy", "backoffLimitPerIndex",
                                       "managedBy", "successPolicy"}) {
    check_immutable(before, now, field);
  }
}

} // namespace

void check_job_spec(const Judged& spec) {
  for (const std::string_view field :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    spec[field].not_negative();
  }
  if (spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex")) {
    spec["backoffLimitPerIndex"].required("when maxFailedIndexes is specified");
  }
  check_managed_by(spec["managedBy"]);
  check_mode(spec);
  check_failure_policy(spec);
  check_success_policy(spec);
  if (spec.has("podFailurePolicy")) {
    spec["podReplacementPolicy"].one_of({"Failed"});
  } else {
    spec["podReplacementPolicy"].one_of({"Failed", "TerminatingOrFailed"});
  }
  check_pod_template(spec["template"]);
  check_restart_policy(spec);
}

void check_job(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  if (request.kind != kJobs) {
    return;
  }
  if (request.subresource == Subresource::Status) {
    check_job_status(*request.before, object, errors);
    return;
  }
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  if (request.before == nullptr) {
    check_generated_selector(object, spec);
  }
  check_job_spec(spec);
  check_selector(spec);
  if (request.before == nullptr) {
    check_index_names(object, spec);
  } else {
    check_changes(*request.before, spec);
  }
}

} // namespace berth::store
