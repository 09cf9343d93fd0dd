// Which daemon pods should come and go now, as a pure function of nodes and pods. Source:
// kubernetes pkg/controller/daemon (daemon_controller.go, update.go).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/time.h"

namespace berth::controllers {

struct DaemonNode {
  std::string name;
  bool should_run = false;
  bool may_stay = false; ///< a pod that is there already is not ended
};

struct DaemonPod {
  std::string name;
  std::string uid;
  std::string node; ///< that it is on or meant for
  bool bound = false;
  bool deleting = false;
  bool failed = false;
  bool succeeded = false;
  bool spared = false; ///< failed too lately to be replaced yet
  bool ready = false;
  bool current = false; ///< of the set's present template
  TimePoint ready_since;
  TimePoint created;
};

enum class DaemonStrategy { RollingUpdate, OnDelete };

struct DaemonQuestion {
  DaemonStrategy strategy = DaemonStrategy::RollingUpdate;
  std::int64_t max_surge = 0;       ///< in pods
  std::int64_t max_unavailable = 1; ///< in pods
  Duration min_ready;
  std::vector<DaemonNode> nodes; ///< all of the cluster, by name
  std::vector<DaemonPod> pods;   ///< all of the set
  TimePoint now;
};

struct DaemonStatus {
  std::int64_t current = 0;
  std::int64_t misscheduled = 0;
  std::int64_t desired = 0;
  std::int64_t ready = 0;
  std::int64_t updated = 0;
  std::int64_t available = 0;

  bool operator==(const DaemonStatus&) const = default;
};

struct DaemonPlan {
  std::vector<std::string> create_on; ///< nodes
  std::vector<DaemonPod> remove;
  DaemonStatus status;
  /// When a ready pod becomes available next; TimePoint::max() for never.
  TimePoint wake = TimePoint::max();
};

/// Replaces outdated pods only where nothing is missing or too much. O((nodes + pods) log pods).
DaemonPlan plan_daemons(const DaemonQuestion& question);

} // namespace berth::controllers
