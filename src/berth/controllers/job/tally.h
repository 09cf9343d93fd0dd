// First half of planning a Job: which pods have finished, which of them are counted durably, and
// what that makes of the counts. Rule: the Kubernetes Job controller's tracking with finalizers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/controllers/job/pod_fact.h"
#include "berth/controllers/job/removal_order.h"
#include "berth/controllers/job/state.h"

namespace berth::controllers {

struct JobTally {
  PodFacts active;
  PodFacts terminating; ///< being deleted, not ended
  std::int64_t ready = 0;
  std::int64_t succeeded = 0; ///< all known, counted durably or not
  std::int64_t failed = 0;
  IndexSet completed_indexes; ///< indexed Jobs
  IndexSet failed_indexes;    ///< with backoffLimitPerIndex
  bool all_counted = true;    ///< nothing is waiting in the uncounted lists or to enter them

  /// Counting fields of the status to store: succeeded, failed, indexes, uncounted lists.
  JobStatus counted;
  /// Finished pods that the stored status already accounts for: their finalizer may go.
  PodFacts releasable;
};

/// Linear in pods times log of uncounted.
JobTally tally_pods(const JobState& state, const PodFacts& pods);

} // namespace berth::controllers
