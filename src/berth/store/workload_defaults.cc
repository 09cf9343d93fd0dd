#include "berth/store/workload_defaults.h"

#include <charconv>

#include <fmt/format.h>

#include "berth/api/same.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"
#include "berth/store/pod_defaults.h"

namespace berth::store {
namespace {

using api::json::object;
using api::json::value;

constexpr int kHistory = 10;
constexpr int kProgressSeconds = 600;
constexpr const char* kQuarter = "25%";
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

void default_template(object& spec) {
  object* pod = object_in(spec, "template");
  if (object* pod_spec = pod == nullptr ? nullptr : object_in(*pod, "spec")) {
    default_pod_spec(*pod_spec);
  }
}

void default_deployment(object& spec) {
  set_default(spec, "replicas", 1);
  object& strategy = api::object_at(spec, "strategy");
  set_default(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") == "RollingUpdate") {
    object& rolling = api::object_at(strategy, "rollingUpdate");
    set_default(rolling, "maxUnavailable", kQuarter);
    set_default(rolling, "maxSurge", kQuarter);
  }
  set_default(spec, "revisionHistoryLimit", kHistory);
  set_default(spec, "progressDeadlineSeconds", kProgressSeconds);
}

void default_claim_template(object& claim) {
  set_default(claim, "apiVersion", "v1");
  set_default(claim, "kind", "PersistentVolumeClaim");
  set_default(api::object_at(claim, "spec"), "volumeMode", "Filesystem");
  set_default(api::object_at(claim, "status"), "phase", "Pending");
}

void default_stateful_set(object& spec) {
  set_default(spec, "podManagementPolicy", "OrderedReady");
  object& strategy = api::object_at(spec, "updateStrategy");
  set_default(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") == "RollingUpdate") {
    set_default(api::object_at(strategy, "rollingUpdate"), "partition", 0);
  }
  object& retention = api::object_at(spec, "persistentVolumeClaimRetentionPolicy");
  set_default(retention, "whenDeleted", "Retain");
  set_default(retention, "whenScaled", "Retain");
  set_default(spec, "replicas", 1);
  set_default(spec, "revisionHistoryLimit", kHistory);
  each_in(spec, "volumeClaimTemplates", &default_claim_template);
}

/// Counts the templates a DaemonSet has had, as extensions/v1beta1 did in its spec.
void count_templates(const AdmissionRequest& request, object& whole, const object& spec) {
  std::string generation = "1";
  if (request.before != nullptr) {
    const auto& annotations = request.before->meta().annotations;
    const auto held = annotations.find(kTemplateGeneration);
    std::int64_t number = 1;
    if (held != annotations.end()) {
      std::from_chars(held->second.data(), held->second.data() + held->second.size(), number);
    }
    const value* before = api::find_path(request.before->json(), "spec.template");
    const value* now = spec.if_contains("template");
    const bool same = before != nullptr && now != nullptr && api::same(*before, *now);
    generation = fmt::to_string(same ? number : number + 1);
  }
  api::object_at(api::object_at(whole, "metadata"), "annotations")[kTemplateGeneration] =
      generation;
}

void default_daemon_set(object& spec) {
  object& strategy = api::object_at(spec, "updateStrategy");
  set_default(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") == "RollingUpdate") {
    object& rolling = api::object_at(strategy, "rollingUpdate");
    set_default(rolling, "maxUnavailable", 1);
    set_default(rolling, "maxSurge", 0);
  }
  set_default(spec, "revisionHistoryLimit", kHistory);
}

void default_cron_job(object& spec) {
  set_default(spec, "concurrencyPolicy", "Allow");
  set_default(spec, "suspend", false);
  set_default(spec, "successfulJobsHistoryLimit", 3);
  set_default(spec, "failedJobsHistoryLimit", 1);
  object* job = object_in(spec, "jobTemplate");
  if (object* job_spec = job == nullptr ? nullptr : object_in(*job, "spec")) {
    default_template(*job_spec);
  }
}

void default_request(object& request) {
  object* exactly = object_in(request, "exactly");
  if (exactly != nullptr) {
    set_default(*exactly, "allocationMode", "ExactCount");
    if (text_at(*exactly, "allocationMode") == "ExactCount") {
      set_default(*exactly, "count", 1);
    }
  }
  each_in(request, "firstAvailable", [](object& alternative) {
    set_default(alternative, "allocationMode", "ExactCount");
    if (text_at(alternative, "allocationMode") == "ExactCount") {
      set_default(alternative, "count", 1);
    }
  });
}

void default_claim_spec(object& spec) {
  if (object* devices = object_in(spec, "devices")) {
    each_in(*devices, "requests", &default_request);
  }
}

bool is_workload(const GroupKind& kind) {
  return kind.group == "apps" && (kind.kind == "Deployment" || kind.kind == "ReplicaSet" ||
                                  kind.kind == "StatefulSet" || kind.kind == "DaemonSet");
}

} // namespace

Result<void> default_workload(const AdmissionRequest& request, value& document) {
  object& whole = document.as_object();
  object* spec = object_in(whole, "spec");
  if (spec == nullptr) {
    return {};
  }
  const GroupKind& kind = request.kind;
  if (kind == GroupKind{"batch", "CronJob"}) {
    default_cron_job(*spec);
    set_default(whole, "status", object());
    return {};
  }
  if (!is_workload(kind)) {
    return {};
  }
  default_template(*spec);
  if (kind.kind == "Deployment") {
    default_deployment(*spec);
    set_default(whole, "status", object());
  } else if (kind.kind == "ReplicaSet") {
    set_default(*spec, "replicas", 1);
    set_default(whole, "status", object{{"replicas", 0}});
  } else if (kind.kind == "StatefulSet") {
    default_stateful_set(*spec);
    set_default(whole, "status", object{{"replicas", 0}, {"availableReplicas", 0}});
  } else {
    default_daemon_set(*spec);
    count_templates(request, whole, *spec);
    set_default(whole, "status",
                object{{"currentNumberScheduled", 0},
                       {"numberMisscheduled", 0},
                       {"desiredNumberScheduled", 0},
                       {"numberReady", 0}});
  }
  return {};
}

Result<void> default_device_claim(const AdmissionRequest& request, value& document) {
  object& whole = document.as_object();
  object* spec = object_in(whole, "spec");
  if (request.kind.group != "resource.k8s.io" || spec == nullptr) {
    return {};
  }
  if (request.kind.kind == "ResourceClaim") {
    default_claim_spec(*spec);
    set_default(whole, "status", object());
  } else if (request.kind.kind == "ResourceClaimTemplate") {
    if (object* inner = object_in(*spec, "spec")) {
      default_claim_spec(*inner);
    }
  }
  return {};
}

} // namespace berth::store
