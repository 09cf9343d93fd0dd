// How a Deployment's ReplicaSets should change now, as a pure function of what is there. Source:
// kubernetes pkg/controller/deployment (rolling.go, recreate.go, sync.go, progress.go) and
// util/deployment_util.go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/time.h"

namespace berth::controllers {

/// A ReplicaSet of the Deployment.
struct RolloutSet {
  std::string name;
  bool current = false;      ///< its template is the Deployment's
  std::int64_t wanted = 0;   ///< spec.replicas
  std::int64_t replicas = 0; ///< of its status, as are these
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t revision = 0;
  TimePoint created;
  bool observed = true; ///< its status is of its present spec
};

enum class RolloutStrategy { RollingUpdate, Recreate };

struct RolloutQuestion {
  std::int64_t wanted = 1;
  RolloutStrategy strategy = RolloutStrategy::RollingUpdate;
  std::int64_t max_surge = 0;       ///< in pods
  std::int64_t max_unavailable = 0; ///< in pods
  std::int64_t history = 10;        ///< old sets that are kept
  bool paused = false;
  std::vector<RolloutSet> sets;
};

struct RolloutScale {
  std::string name;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

struct RolloutPlan {
  /// There is no current set: make one with so many replicas.
  std::optional<std::int64_t> create;
  std::vector<RolloutScale> scale;
  std::vector<std::string> remove; ///< old sets beyond the history
  std::int64_t revision = 1;       ///< that the current set should have
};

/// O(sets log sets).
RolloutPlan plan_rollout(const RolloutQuestion& question);

} // namespace berth::controllers
