#include "berth/controllers/pod_group/phase.h"

namespace berth::controllers {
namespace {

std::string next_phase(const std::string& phase, std::int64_t min_member,
                       const GroupCounts& counts) {
  if (counts.succeeded >= min_member) {
    return "Finished";
  }
  if (phase == "Failed") {
    return phase;
  }
  if (counts.pods < min_member) {
    return "Pending";
  }
  if (counts.failed > 0 && counts.failed + counts.running + counts.succeeded >= min_member) {
    return "Failed";
  }
  return counts.running + counts.succeeded >= min_member ? "Running" : "Scheduling";
}

} // namespace

GroupStatus next_group_status(const GroupInput& input, TimePoint now) {
  if (input.stored.phase == "Finished") {
    return input.stored;
  }
  GroupStatus next = input.stored;
  next.phase = next_phase(input.stored.phase, input.min_member, input.counts);
  next.running = input.counts.running;
  next.succeeded = input.counts.succeeded;
  next.failed = input.counts.failed;
  if (next.phase == "Pending") {
    // The next attempt has its own start.
    next.schedule_start_time.reset();
    return next;
  }
  if (next.occupied_by.empty()) {
    next.occupied_by = input.owner;
  }
  if (!next.schedule_start_time) {
    next.schedule_start_time = TimePoint::from_unix_seconds(now.unix_seconds());
  }
  return next;
}

} // namespace berth::controllers
