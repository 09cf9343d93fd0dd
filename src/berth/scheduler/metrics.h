// kube-scheduler's metrics under its names, labels and buckets (spec 10.1): all that are STABLE or
// BETA there. Counted by the scheduler process from decisions, the queue's counts and answers of
// the API; deciding itself measures nothing. Durations are of the loop's clock: in virtual time
// work takes none, and only what waits (backoff, Permit, volumes) lasts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/sched/framework.h"
#include "berth/sched/queue.h"

namespace berth::scheduler {

enum class AttemptResult { Scheduled, Unschedulable, Error };

/// What is counted when somebody looks.
struct MetricGauges {
  sched::Queue::Depth depth;
  const sched::Queue::Moves* moves = nullptr;
  /// Pods that wait and were rejected by the plugin: plugin, profile.
  std::map<std::pair<std::string, std::string>, std::int64_t> unschedulable;
  std::uint64_t binding = 0;
  std::size_t nodes = 0;
  std::size_t pods = 0; ///< placed
  std::size_t assumed = 0;
};

/// An observation costs about as much as a map lookup. Profiles are numbered in the order given.
class Metrics {
 public:
  explicit Metrics(const std::vector<const sched::Framework*>& profiles);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// The deciding of one pod, or of one group, is over.
  void decided(Duration took);
  /// Which plugins one decision asked: filters always, scorers where there were nodes to compare.
  void evaluated(std::size_t profile, std::int64_t feasible_nodes);
  /// An attempt is over; `took`: from the pop to the answer.
  void attempt(std::size_t profile, AttemptResult result, Duration took);
  /// The pod is bound.
  void bound(const sched::QueuedPod& pod, TimePoint now);
  void preemption_tried(std::size_t victims);
  enum class Permit { Allowed, Refused };
  void permit_wait(Permit result, Duration took);
  enum class Status { Success, Error };
  /// The points that the process itself carries out.
  enum class Point { PreBind, Bind };
  void extension_point(std::size_t profile, Point point, Status status, Duration took);

  /// Prometheus' text format, in one order. O(metrics).
  std::string text(const MetricGauges& gauges) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace berth::scheduler
