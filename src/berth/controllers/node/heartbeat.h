// When a node counts as silent. Rule: the Kubernetes node lifecycle controller: a node is heard
// when its Lease is renewed or its Ready condition's heartbeat moves; silence longer than
// node-monitor-grace-period (40 s) makes it Unknown, longer than node-startup-grace-period (60 s)
// if it has never reported.
#pragma once

#include <optional>

#include "berth/base/time.h"
#include "berth/controllers/node/lease_fact.h"

namespace berth::controllers {

struct GracePeriods {
  Duration monitor = Duration::seconds(40);
  Duration startup = Duration::seconds(60);
};

/// What of a node's signs of life was seen last, and when. Kept by the controller, since a node's
/// clock need not be right: a sign is never taken as later than it was seen.
class HeartbeatRecord {
 public:
  /// `lease` may be absent; `status` is the Ready condition's lastHeartbeatTime.
  void observe(const std::optional<LeaseFact>& lease, std::optional<TimePoint> status,
               TimePoint now);

  struct Judgement {
    bool silent = false;
    std::optional<TimePoint> due; ///< when silence would be complete; none for a standing lease
  };
  /// `reported`: the node has a Ready condition.
  enum class Status { Reported, NeverReported };
  Judgement judge(const GracePeriods& grace, Status status, TimePoint now) const;

 private:
  bool standing_ = false;
  std::optional<TimePoint> renewed_;
  std::optional<TimePoint> status_;
  std::optional<TimePoint> heard_;
};

} // namespace berth::controllers
