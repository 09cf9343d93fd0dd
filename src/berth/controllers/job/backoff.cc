#include "berth/controllers/job/backoff.h"

#include <algorithm>

namespace berth::controllers {

Duration job_backoff(std::int64_t failures) {
  constexpr Duration kFirst = Duration::seconds(10);
  constexpr Duration kLongest = Duration::minutes(10);
  if (failures <= 0) {
    return Duration();
  }
  // 10 s * 2^6 already exceeds the cap; a larger shift would overflow.
  constexpr std::int64_t kShiftAtCap = 6;
  return std::min(kLongest, kFirst * (std::int64_t{1} << std::min(failures - 1, kShiftAtCap)));
}

void BackoffRecord::observe(const PodFact& pod) {
  if (pod.phase == PodFact::Phase::Succeeded) {
    last_success_ = std::max(last_success_.value_or(pod.finished_at), pod.finished_at);
    std::erase_if(failures_, [&](const auto& entry) { return entry.second < *last_success_; });
    return;
  }
  // A pod that the Job itself removed lost its finalizer first: that it then ends is no failure.
  const bool failed = pod.deleting ? pod.tracked : pod.phase == PodFact::Phase::Failed;
  // A failure keeps the time first seen: a terminating pod's end must not move when its containers
  // stop.
  if (failed && (!last_success_ || pod.finished_at >= *last_success_)) {
    failures_.emplace(pod.uid, pod.finished_at);
  }
}

std::optional<TimePoint> BackoffRecord::blocked_until(TimePoint now) const {
  if (failures_.empty()) {
    return std::nullopt;
  }
  TimePoint latest = failures_.begin()->second;
  for (const auto& [uid, at] : failures_) {
    latest = std::max(latest, at);
  }
  const TimePoint until = latest + job_backoff(failures());
  return until > now ? std::optional(until) : std::nullopt;
}

} // namespace berth::controllers
