// Pods that Permit told to wait: assumed on a node, held until every plugin that asked for the wait
// allows them, one rejects, or the time is up (spec 1.1 point 12).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/sched/cycle.h"

namespace berth::sched {

struct WaitingPod {
  QueuedPod queued;
  Decision decision;
  TimePoint since;
  std::map<std::string, TimePoint, std::less<>> waits; ///< plugin -> when its patience ends
};

/// Owned by the scheduler process. Taking a pod out ends its wait; what follows (bind, or unreserve
/// and forget) is the caller's. All answers are in uid order.
class WaitingPods {
 public:
  /// The decision's outcome is Waiting.
  void add(QueuedPod queued, Decision decision, TimePoint now);
  /// The plugin's wait ends. Returns the pod, taken out, once no plugin waits any more.
  std::optional<WaitingPod> allow(std::string_view uid, std::string_view plugin);
  /// Takes the pod out.
  std::optional<WaitingPod> take(std::string_view uid);
  struct Expired {
    WaitingPod pod;
    std::string plugin; ///< whose patience ended first
  };
  /// Takes out the pods whose time is up.
  std::vector<Expired> expire(TimePoint now);
  /// When expire next has work.
  std::optional<TimePoint> next_deadline() const;

  const WaitingPod* find(std::string_view uid) const;
  const std::map<std::string, WaitingPod, std::less<>>& all() const { return pods_; }
  std::size_t size() const { return pods_.size(); }

 private:
  std::map<std::string, WaitingPod, std::less<>> pods_;
};

/// Message of a pod whose wait ran out, kube-scheduler's words.
std::string permit_timeout_message(std::string_view plugin);

} // namespace berth::sched
