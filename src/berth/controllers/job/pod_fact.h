// What the Job controller reads of a pod. A view (api::Object::view), so decoded once a version.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::controllers {

/// A finished pod keeps this finalizer until the Job has counted it.
inline constexpr std::string_view kJobTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kCompletionIndexKey = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kIndexFailuresAnnotation =
    "batch.kubernetes.io/job-index-failure-count";

struct PodFact {
  enum class Phase { Pending, Running, Succeeded, Failed };

  std::string name;
  std::string uid;
  Phase phase = Phase::Pending;
  bool deleting = false;
  bool tracked = false;  ///< carries kJobTrackingFinalizer
  bool assigned = false; ///< has a node
  bool ready = false;
  std::optional<TimePoint> ready_since;
  TimePoint created;
  std::optional<std::int64_t> index; ///< completion index, if well-formed
  std::int64_t index_failures = 0;   ///< failures of this index before this pod
  std::int64_t restarts = 0;         ///< container restarts, init containers included
  TimePoint finished_at;             ///< best known end; meaningful once finished or deleting

  bool terminal() const { return phase == Phase::Succeeded || phase == Phase::Failed; }
  bool active() const { return !terminal() && !deleting; }
  bool terminating() const { return !terminal() && deleting; }
};

Result<std::shared_ptr<const PodFact>> decode_pod_fact(const api::json::value& document);
inline Result<std::shared_ptr<const PodFact>> pod_fact(const api::Object& pod) {
  return pod.view<PodFact>(&decode_pod_fact);
}

} // namespace berth::controllers
