// Delay before a Job's failed pods are replaced: 10 s after the first failure, doubled with each
// further one, at most 10 minutes, counted from the latest failure; a success starts afresh. Rule:
// the Kubernetes Job controller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/controllers/job/pod_fact.h"

namespace berth::controllers {

/// 10 s * 2^(failures - 1), at most 10 minutes; zero without failures.
Duration job_backoff(std::int64_t failures);

/// The failures since the last success, by pod, so that seeing a pod again changes nothing.
/// Outlives the pods: one that is deleted after it failed still delays.
class BackoffRecord {
 public:
  void observe(const PodFact& pod);
  /// When the next pod may be created; none if at once.
  std::optional<TimePoint> blocked_until(TimePoint now) const;
  std::int64_t failures() const { return static_cast<std::int64_t>(failures_.size()); }

 private:
  std::optional<TimePoint> last_success_;
  std::map<std::string, TimePoint> failures_; ///< by uid; only those after last_success_
};

} // namespace berth::controllers
