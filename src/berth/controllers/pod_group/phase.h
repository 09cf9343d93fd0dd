// A PodGroup's phase and counts from its pods. Rule: the Coscheduling controller
// (scheduling.x-k8s.io): Pending -> Scheduling with minMember pods -> Running with minMember
// running or succeeded -> Finished with minMember succeeded, or Failed when any failed and failed +
// running + succeeded reach minMember.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "berth/base/time.h"

namespace berth::controllers {

struct GroupCounts {
  std::int64_t pods = 0; ///< all members, whatever their phase
  std::int64_t running = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
};

/// The part of a PodGroup's status that the controller keeps.
struct GroupStatus {
  std::string phase;
  std::string occupied_by;
  std::int64_t running = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::optional<TimePoint> schedule_start_time; ///< whole seconds

  bool operator==(const GroupStatus&) const = default;
};

struct GroupInput {
  GroupStatus stored;
  std::int64_t min_member = 1;
  GroupCounts counts;
  std::string owner; ///< of the members, "namespace/name"; "" if they have none
};

/// Finished is final, for its pods may be cleaned up. Failed gives way only to Finished.
GroupStatus next_group_status(const GroupInput& input, TimePoint now);

} // namespace berth::controllers
