// The scheduler process: informers feed the deciding wing's state and queue, decisions become
// bindings, conditions, events and evictions. Thin: it decides nothing itself. Behaviour visible
// through the API is kube-scheduler's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"
#include "berth/explain/book.h"
#include "berth/hardware/platform.h"
#include "berth/sched/framework.h"
#include "berth/sched/queue.h"
#include "berth/scheduler/extender_calls.h"

namespace berth::scheduler {

struct SchedulerOptions {
  /// A pod is scheduled by the profile that has its spec.schedulerName; pods that no profile is for
  /// are left alone. The profile's name is the source of its events. At least one.
  std::vector<sched::Profile> profiles;
  sched::QueueOptions queue;
  /// Pods whose decisions are kept whole (decisions()). None: nothing is kept, and it costs
  /// nothing.
  std::vector<explain::Wanted> explain = {};
  /// Asked in this order; with any of them `poster` must be set.
  std::vector<sched::Extender> extenders = {};
  HttpPoster poster = {};
  /// Where the platforms of nodes are looked up.
  hardware::Catalogue catalogue = hardware::Catalogue::builtin();
};

/// Kubernetes' default plugins, Gang for pod groups, GpuTopology with this policy ("topology",
/// "binpack", "spread"). For pods of default-scheduler, berth-scheduler and
/// scheduler-plugins-scheduler.
sched::Profile berth_profile(std::string_view gpu_policy = "topology",
                             sched::KubernetesVersion version = {});

struct SchedulerStats {
  std::uint64_t attempts = 0; ///< pods decided
  std::uint64_t bound = 0;    ///< bindings the API accepted
  std::uint64_t rejected = 0; ///< attempts that ended Unschedulable
  std::uint64_t bind_failures = 0;
  std::uint64_t preempted = 0; ///< victims deleted
};

/// One scheduler on one Loop. Watches at once; stops when destroyed: bindings in flight still reach
/// the API, a successor learns of them by listing.
class Scheduler {
 public:
  /// Errors: a profile that names an unknown plugin or bad arguments, two profiles for one name, or
  /// that sort the queue by different plugins.
  static Result<std::unique_ptr<Scheduler>> start(client::Client& client, Loop& loop, Rng rng,
                                                  SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Nothing to decide, nothing in flight: every pod is placed, or was tried since the last change
  /// that could help it. Pods in backoff count as work, unless an extender has failed them four
  /// times in a row.
  bool idle() const;
  bool synced() const;
  /// Runs once, when synced() becomes true.
  void on_sync(Task task);
  SchedulerStats stats() const;
  sched::Queue::Depth depth() const;
  /// For invariant checks: the scheduler's picture of the cluster.
  const sched::ClusterState& state() const;
  bool schedules(std::string_view scheduler_name) const;
  /// What was kept of pods that SchedulerOptions::explain asks for.
  const explain::Book& decisions() const;
  /// Keeps the decisions of these pods from now on.
  void keep_decisions_of(explain::Wanted wanted);
  /// kube-scheduler's metrics (metrics.h) in Prometheus' text format. O(waiting pods).
  std::string metrics() const;

 private:
  class Process;

 public:
  /// For start() alone: Process has no name outside this room.
  explicit Scheduler(std::shared_ptr<Process> process);

 private:
  std::shared_ptr<Process> process_;
};

} // namespace berth::scheduler
