// The Job controller's decisions as a pure function: given a Job, its pods and the time, which pods
// to create, delete and release, and which status to store. Rules: the Kubernetes Job controller
// (tracking with finalizers, suspension, deadlines, backoffLimit and backoffLimitPerIndex,
// SuccessCriteriaMet and FailureTarget before Complete and Failed).
//
// Every step is safe to repeat. A pod that has finished is first named in the stored status
// (uncounted, or its index in completedIndexes), then loses its finalizer, then moves into the
// counts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/controllers/job/backoff.h"
#include "berth/controllers/job/removal_order.h"
#include "berth/controllers/job/state.h"

namespace berth::controllers {

struct JobInput {
  const JobState& state;
  const PodFacts& pods; ///< controlled by this Job; in order of name
  const BackoffRecord& backoff;
  TimePoint now;
};

struct PodRemoval {
  std::string name;
  std::string uid;
  /// Whether the pod may still count as failed: pods of a failing Job do, pods that suspension or a
  /// lowered parallelism removes do not and lose their finalizer first.
  enum class Counting { CountsAsFailed, NotCounted } counting = Counting::CountsAsFailed;

  bool operator==(const PodRemoval&) const = default;
};

struct PodCreation {
  std::optional<std::int64_t> index;
  std::int64_t index_failures = 0;

  bool operator==(const PodCreation&) const = default;
};

struct JobEvent {
  enum class Type { Normal, Warning } type = Type::Normal;
  std::string reason;
  std::string message;

  bool operator==(const JobEvent&) const = default;
};

struct PodName {
  std::string name;
  std::string uid;

  bool operator==(const PodName&) const = default;
};

struct JobPlan {
  std::vector<PodRemoval> remove;
  std::vector<PodCreation> create; ///< empty while `remove` is not
  JobStatus status;                ///< to be stored when it differs from the stored one
  std::vector<JobEvent> events;    ///< to be sent once `status` is stored
  std::vector<PodName> release;    ///< to lose their finalizer, once `status` is stored
  std::optional<TimePoint> wake;   ///< nothing changes before, unless an object does
  bool expired = false;            ///< ttlSecondsAfterFinished has passed: delete the Job
};

/// Linear in pods, plus sorting where pods must go.
JobPlan plan_job(const JobInput& input);

} // namespace berth::controllers
