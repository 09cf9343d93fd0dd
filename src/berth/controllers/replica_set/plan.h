// What a ReplicaSet needs next, as a pure function of its pods. Source: kubernetes
// pkg/controller/replicaset (manageReplicas, calculateStatus) and
// pkg/controller/controller_utils.go (ActivePodsWithRanks).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/time.h"

namespace berth::controllers {

/// At most so many pods are created or deleted in one pass.
inline constexpr std::int64_t kReplicaBurst = 500;

/// A pod of the ReplicaSet that has not ended.
struct ReplicaFact {
  std::string name;
  std::string uid;
  bool deleting = false;
  bool bound = false;
  bool running = false; ///< phase Running
  bool ready = false;
  TimePoint ready_since; ///< if ready
  TimePoint created;
  std::int64_t deletion_cost = 0; ///< annotation controller.kubernetes.io/pod-deletion-cost
  std::int64_t restarts = 0;
  bool fully_labeled = true; ///< carries all labels of the template
};

struct ReplicaStatus {
  std::int64_t replicas = 0;
  std::int64_t fully_labeled = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;

  bool operator==(const ReplicaStatus&) const = default;
};

struct ReplicaPlan {
  std::int64_t create = 0;
  std::vector<ReplicaFact> remove; ///< first to go first
  ReplicaStatus status;
  /// When a ready pod becomes available next; TimePoint::max() for never.
  TimePoint wake = TimePoint::max();
};

struct ReplicaQuestion {
  std::int64_t wanted = 1;
  Duration min_ready;    ///< spec.minReadySeconds
  bool deleting = false; ///< the ReplicaSet itself: nothing is created or removed
  std::vector<ReplicaFact> pods;
  TimePoint now;
};

/// O(pods log pods). Pods that are being deleted count for nothing.
ReplicaPlan plan_replicas(const ReplicaQuestion& question);

} // namespace berth::controllers
