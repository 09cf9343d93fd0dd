// Typed views of the workload kinds the core acts on: Job, PodGroup (scheduling.x-k8s.io),
// PriorityClass, ResourceQuota.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "berth/model/pod.h"

namespace berth::model {

struct Job {
  api::ObjectMeta meta;
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions; ///< none: any pod's success completes the job
  std::string completion_mode = "NonIndexed";
  std::int64_t backoff_limit = 6;
  bool suspend = false;
  std::optional<std::int64_t> active_deadline_seconds;
  std::optional<std::int64_t> ttl_seconds_after_finished;
  api::json::value pod_template; ///< spec.template as written

  struct Status {
    std::int64_t active = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::optional<TimePoint> start_time;
    std::optional<TimePoint> completion_time;
    std::vector<Condition> conditions;
  } status;

  bool finished() const; ///< condition Complete or Failed is True
};

/// scheduling.x-k8s.io/v1alpha1 PodGroup.
struct PodGroup {
  api::ObjectMeta meta;
  std::int64_t min_member = 1;
  ResourceList min_resources;
  std::optional<std::int64_t> schedule_timeout_seconds;
  std::string phase; ///< "", Pending, Scheduling, Running, Unknown, Finished, Failed
};

struct PriorityClass {
  api::ObjectMeta meta;
  std::int64_t value = 0;
  bool global_default = false;
  std::string preemption_policy;
};

struct ResourceQuota {
  api::ObjectMeta meta;
  ResourceList hard; ///< e.g. "requests.nvidia.com/gpu", "pods", "limits.cpu"
  ResourceList used; ///< status.used
};

Result<std::shared_ptr<const Job>> decode_job(const api::json::value& document);
Result<std::shared_ptr<const PodGroup>> decode_pod_group(const api::json::value& document);
Result<std::shared_ptr<const PriorityClass>>
decode_priority_class(const api::json::value& document);
Result<std::shared_ptr<const ResourceQuota>>
decode_resource_quota(const api::json::value& document);

inline Result<std::shared_ptr<const Job>> job_view(const api::Object& o) {
  return o.view<Job>(&decode_job);
}
inline Result<std::shared_ptr<const PodGroup>> pod_group_view(const api::Object& o) {
  return o.view<PodGroup>(&decode_pod_group);
}
inline Result<std::shared_ptr<const PriorityClass>> priority_class_view(const api::Object& o) {
  return o.view<PriorityClass>(&decode_priority_class);
}
inline Result<std::shared_ptr<const ResourceQuota>> resource_quota_view(const api::Object& o) {
  return o.view<ResourceQuota>(&decode_resource_quota);
}

} // namespace berth::model
