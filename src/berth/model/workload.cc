#include "berth/model/workload.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/model/decode.h"

namespace berth::model {

using api::Field;

namespace {

/// batch/v1: neither given is one pod, once; only completions given runs one at a time; only
/// parallelism given completes with any success.
void decode_counts(const Field& spec, Job& out) {
  std::optional<std::int64_t> parallelism;
  spec.read("parallelism", parallelism);
  spec.read("completions", out.completions);
  for (const auto& [name, count] :
       {std::pair("parallelism", parallelism), std::pair("completions", out.completions)}) {
    if (count.value_or(0) < 0) {
      return spec.fail(fmt::format("{} must not be negative, got {}", name, *count));
    }
  }
  if (!parallelism && !out.completions) {
    out.completions = 1;
  }
  out.parallelism = parallelism.value_or(1);
}

} // namespace

void decode(const Field& in, Job::Status& out) {
  in.read("active", out.active);
  in.read("succeeded", out.succeeded);
  in.read("failed", out.failed);
  in.read("startTime", out.start_time);
  in.read("completionTime", out.completion_time);
  in.read("conditions", out.conditions);
}

void decode(const Field& in, Job& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) {
    decode_counts(spec, out);
    spec.read("completionMode", out.completion_mode);
    spec.read("backoffLimit", out.backoff_limit);
    spec.read("suspend", out.suspend);
    spec.read("activeDeadlineSeconds", out.active_deadline_seconds);
    spec.read("ttlSecondsAfterFinished", out.ttl_seconds_after_finished);
    spec.read("template", out.pod_template);
    if (out.completion_mode != "NonIndexed" && out.completion_mode != "Indexed") {
      spec.fail(fmt::format("completionMode must be NonIndexed or Indexed, got \"{}\"",
                            out.completion_mode));
    }
  });
  in.read("status", out.status);
}

void decode(const Field& in, PodGroup& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) {
    spec.read("minMember", out.min_member);
    spec.read("minResources", out.min_resources);
    spec.read("scheduleTimeoutSeconds", out.schedule_timeout_seconds);
  });
  in.within("status", [&](const Field& status) { status.read("phase", out.phase); });
}

void decode(const Field& in, PriorityClass& out) {
  in.read("metadata", out.meta);
  in.read("value", out.value);
  in.read("globalDefault", out.global_default);
  in.read("preemptionPolicy", out.preemption_policy);
}

void decode(const Field& in, ResourceQuota& out) {
  in.read("metadata", out.meta);
  in.within("spec", [&](const Field& spec) { spec.read("hard", out.hard); });
  in.within("status", [&](const Field& status) { status.read("used", out.used); });
}

bool Job::finished() const {
  return std::any_of(status.conditions.begin(), status.conditions.end(),
                     [](const Condition& condition) {
                       return (condition.type == "Complete" || condition.type == "Failed") &&
                              condition.status == "True";
                     });
}

Result<std::shared_ptr<const Job>> decode_job(const api::json::value& document) {
  return decode_shared<Job>(document);
}

Result<std::shared_ptr<const PodGroup>> decode_pod_group(const api::json::value& document) {
  return decode_shared<PodGroup>(document);
}

Result<std::shared_ptr<const PriorityClass>>
decode_priority_class(const api::json::value& document) {
  return decode_shared<PriorityClass>(document);
}

Result<std::shared_ptr<const ResourceQuota>>
decode_resource_quota(const api::json::value& document) {
  return decode_shared<ResourceQuota>(document);
}

} // namespace berth::model
