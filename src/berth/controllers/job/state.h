// What the Job controller reads of a Job beyond model::Job, and the status it writes. Form:
// batch/v1 JobSpec and JobStatus. A view (api::Object::view), so decoded once a version.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/controllers/job/index_set.h"
#include "berth/model/workload.h"

namespace berth::controllers {

struct JobCondition {
  std::string type;
  std::string status; ///< True or False
  std::string reason;
  std::string message;
  TimePoint last_transition; ///< whole seconds

  bool operator==(const JobCondition&) const = default;
};

struct JobStatus {
  std::int64_t active = 0;
  std::int64_t ready = 0;
  std::int64_t terminating = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::optional<TimePoint> start_time;
  std::optional<TimePoint> completion_time;
  IndexSet completed_indexes;
  IndexSet failed_indexes;
  /// uids of finished pods that are in neither `succeeded` nor `failed` yet and may still carry the
  /// finalizer; sorted. A pod's finalizer goes only after its uid is stored here, so no finished
  /// pod is lost or counted twice.
  std::vector<std::string> uncounted_succeeded;
  std::vector<std::string> uncounted_failed;
  std::vector<JobCondition> conditions;

  /// The condition of this type if its status is True.
  const JobCondition* holds(std::string_view type) const;
  bool finished() const { return holds("Complete") != nullptr || holds("Failed") != nullptr; }
  bool operator==(const JobStatus&) const = default;
};

struct JobState {
  std::shared_ptr<const model::Job> job;
  /// completions as defaulted: 1 when neither completions nor parallelism is given.
  std::optional<std::int64_t> completions;
  std::int64_t backoff_limit = 6;
  std::optional<std::int64_t> backoff_limit_per_index;
  std::optional<std::int64_t> max_failed_indexes;
  bool restart_on_failure = false;      ///< the template's restartPolicy is OnFailure
  bool replace_only_terminated = false; ///< podReplacementPolicy Failed
  JobStatus status;

  bool indexed() const { return job->completion_mode == "Indexed"; }
};

Result<std::shared_ptr<const JobState>> decode_job_state(const api::json::value& document);
inline Result<std::shared_ptr<const JobState>> job_state(const api::Object& object) {
  return object.view<JobState>(&decode_job_state);
}

/// The Job with this status; fields of the old status that the controller does not know survive.
api::Object with_status(const api::Object& job, const JobStatus& status, const JobState& state);

} // namespace berth::controllers
