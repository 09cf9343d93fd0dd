#include "berth/controllers/node/heartbeat.h"

#include <algorithm>

namespace berth::controllers {

void HeartbeatRecord::observe(const std::optional<LeaseFact>& lease,
                              std::optional<TimePoint> status, TimePoint now) {
  const auto hear = [this](TimePoint at) { heard_ = std::max(heard_.value_or(at), at); };
  standing_ = lease && lease->standing;
  const bool first = !heard_;
  const std::optional<TimePoint> renewed = lease ? lease->renewed : std::nullopt;
  if (renewed && renewed != renewed_) {
    hear(std::min(*renewed, now));
  }
  renewed_ = renewed;
  // A heartbeat that was there from the start may be arbitrarily old; a node without a Lease then
  // gets a full period.
  if (status && status != status_ && (!first || !renewed)) {
    hear(now);
  }
  status_ = status;
  if (!heard_) {
    heard_ = now;
  }
}

HeartbeatRecord::Judgement HeartbeatRecord::judge(const GracePeriods& grace, Status status,
                                                  TimePoint now) const {
  if (standing_ || !heard_) {
    return {};
  }
  const TimePoint due = *heard_ + (status == Status::Reported ? grace.monitor : grace.startup);
  if (now >= due) {
    return {.silent = true, .due = std::nullopt};
  }
  return {.silent = false, .due = due};
}

} // namespace berth::controllers
