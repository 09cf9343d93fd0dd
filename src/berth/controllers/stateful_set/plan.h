// Which pods of a StatefulSet should come and go now, as a pure function of those there are.
// Source: kubernetes pkg/controller/statefulset/stateful_set_control.go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/time.h"

namespace berth::controllers {

enum class PodPhase { Pending, Running, Succeeded, Failed };

struct StatefulPod {
  std::string name;
  std::string uid;
  std::int64_t ordinal = 0;
  std::string revision; ///< name of the revision it is of
  PodPhase phase = PodPhase::Pending;
  bool deleting = false;
  bool ready = false;
  TimePoint ready_since;
};

enum class StatefulStrategy { RollingUpdate, OnDelete };
enum class PodManagement { OrderedReady, Parallel };

struct StatefulQuestion {
  std::int64_t start = 0; ///< first ordinal
  std::int64_t wanted = 1;
  std::int64_t partition = 0; ///< replicas before it keep the current revision
  StatefulStrategy strategy = StatefulStrategy::RollingUpdate;
  PodManagement management = PodManagement::OrderedReady;
  Duration min_ready;
  bool deleting = false;        ///< the set itself: nothing comes or goes
  std::string current_revision; ///< of before the rollout
  std::string update_revision;  ///< of the present template
  std::vector<StatefulPod> pods;
  TimePoint now;
};

struct StatefulStatus {
  std::int64_t replicas = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t current = 0;
  std::int64_t updated = 0;
  std::string current_revision;

  bool operator==(const StatefulStatus&) const = default;
};

struct StatefulCreate {
  std::int64_t ordinal = 0;
  std::string revision;
};

struct StatefulPlan {
  std::vector<StatefulCreate> create;
  std::vector<StatefulPod> remove;
  std::vector<std::int64_t> pending;   ///< ordinals of pods whose claims should be there
  std::vector<std::int64_t> condemned; ///< ordinals that are too many
  StatefulStatus status;
  /// When a ready pod becomes available next; TimePoint::max() for never.
  TimePoint wake = TimePoint::max();
};

/// In order, one step at a time and only while all before are ready; in parallel, all at once. The
/// rollout goes from the highest ordinal down, one pod at a time. O(pods log pods).
StatefulPlan plan_stateful(const StatefulQuestion& question);

} // namespace berth::controllers
