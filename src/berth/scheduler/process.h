// The scheduler process's parts that talk to the API; private to this room.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/client/events.h"
#include "berth/client/informer.h"
#include "berth/gang/gang_plugin.h"
#include "berth/gang/gang_preemption.h"
#include "berth/gang/preempt_group.h"
#include "berth/sched/decider.h"
#include "berth/sched/queue.h"
#include "berth/sched/sampling.h"
#include "berth/sched/waiting_pods.h"
#include "berth/scheduler/metrics.h"
#include "berth/scheduler/scheduler.h"

namespace berth::scheduler {

/// Invariant: a pod of ours without a node is in the queue, in flight (being decided, waiting at
/// Permit, or its binding is under way) or gone. One task of the loop decides one pod or one group.
class Scheduler::Process : public std::enable_shared_from_this<Scheduler::Process> {
 public:
  Process(client::Client& client, Loop& loop, Rng rng, SchedulerOptions options,
          std::vector<sched::Framework> frameworks, std::shared_ptr<gang::Groups> groups);

  void watch();
  void stop();

  bool idle() const;
  bool synced() const;
  void on_sync(Task task);
  const SchedulerStats& stats() const { return stats_; }
  const sched::Queue& queue() const { return queue_; }
  const sched::ClusterState& state() const { return state_; }
  explain::Book& book() { return book_; }
  std::string metrics_text() const;
  bool ours(std::string_view scheduler_name) const;

 private:
  // ---- what informers say (process_watch.cc)
  // ------------------------------------------------------
  void on_pod(const api::Object& old, const api::Object& now);
  void on_node(const api::Object& old, const api::Object& now);
  void on_group(const api::Object& old, const api::Object& now);
  void on_budget(const api::Object& old, const api::Object& now);
  void on_namespace(const api::Object& old, const api::Object& now);
  void on_claim(const api::Object& old, const api::Object& now);
  void on_volume(const api::Object& old, const api::Object& now);
  void on_storage_class(const api::Object& old, const api::Object& now);
  void on_csi_node(const api::Object& old, const api::Object& now);
  void on_csi_driver(const api::Object& old, const api::Object& now);
  void on_capacity(const api::Object& old, const api::Object& now);
  void on_attachment(const api::Object& old, const api::Object& now);
  // Of process_reports.cc: what single plugins read.
  void on_service(const api::Object& old, const api::Object& now);
  void on_controller(const api::Object& old, const api::Object& now);
  void on_quota(const api::Object& old, const api::Object& now);
  void on_numa_report(const api::Object& old, const api::Object& now);
  void on_resource_quota(const api::Object& old, const api::Object& now);
  void on_node_metrics(const api::Object& old, const api::Object& now);
  /// Does some profile have one of these plugins?
  bool has_plugin(std::initializer_list<std::string_view> names) const;
  void assigned_pod(const sched::PodPtr& before, const sched::PodPtr& now);
  void pending_pod(const sched::PodPtr& before, const sched::PodPtr& now);
  void pod_gone(const sched::PodPtr& last);
  void tell_queue(const sched::ClusterEvent& event, std::string_view except = {});
  sched::PodPtr describe(const api::Object& object);
  std::vector<const sched::Framework*> frameworks() const;
  sched::QueuePolicy queue_policy();
  std::optional<sched::NodeId> node_of(std::string_view uid) const;

  // ---- deciding (process_decide.cc)
  // ---------------------------------------------------------------
  void wake();
  void arm_timer();
  void decide_next();
  void decide_pod(sched::QueuedPod queued);
  /// A pod being decided, with what extenders said of it so far; null: none is interested.
  struct Attempt {
    sched::QueuedPod queued;
    TimePoint since;
    std::unique_ptr<sched::ExtenderTalk> talk;
  };
  void decide(std::shared_ptr<Attempt> attempt);
  /// Asks all open questions, then decides again. Nobody else is decided meanwhile.
  void ask_extenders(const std::shared_ptr<Attempt>& attempt);
  void resume(const std::shared_ptr<Attempt>& attempt);
  bool is_extended(const sched::PodInfo& pod) const;
  /// Does whatever is in backoff come from extenders that failed again and again?
  bool only_vain_retries() const;
  void decide_group(sched::QueuedPod first);
  void keep(const sched::QueuedPod& queued, const sched::Decision& decision);
  /// `since`: when the attempt began.
  void settle(sched::QueuedPod queued, sched::Decision decision, TimePoint since);
  void carry_out(const sched::Effects& effects);
  void release(sched::WaitingPod waiting, const std::string& plugin, std::string message);
  sched::CycleOptions cycle_options();

  // ---- writing (process_write.cc)
  // -----------------------------------------------------------------
  /// A binding on its way; the pod is assumed until its fate is known.
  struct Flight {
    sched::QueuedPod queued;
    client::Binding binding;
    sched::NodeId node;
    sched::VolumePlan volumes;          ///< to be written, and seen bound, first
    std::vector<std::uint64_t> written; ///< resourceVersion of each write of the plan, in order
    std::unique_ptr<Timer> volumes_due; ///< while it waits for its claims
    TimePoint since;                    ///< when the attempt began
    TimePoint sent;                     ///< of the first binding request
  };
  void bind(sched::QueuedPod queued, const sched::Decision& decision, TimePoint since);
  void send_binding(const std::shared_ptr<Flight>& flight);
  /// Sends it through an extender that binds and is interested; false: there is none.
  bool send_to_extender(const std::shared_ptr<Flight>& flight);
  void on_extender_bound(const std::shared_ptr<Flight>& flight, const Result<void>& answer);
  void on_binding_answer(const std::shared_ptr<Flight>& flight, Result<api::Object> answer);
  void look_where_it_is(const std::shared_ptr<Flight>& flight, const std::string& refusal);
  void land(const Flight& flight);
  void lose(const Flight& flight, const std::string& message);
  /// Runs the task in a second, unless stopped by then.
  void later(Task task);
  void unschedulable(sched::QueuedPod queued, const sched::Decision& decision, TimePoint since);
  /// For metrics: the profile's number.
  std::size_t profile_of(const sched::PodInfo& pod) const;
  void write_condition(const std::string& uid, std::string_view reason, const std::string& message,
                       std::optional<std::string> nominated_node);
  void evict(const sched::PodPtr& victim, const sched::PodPtr& by, const sched::Decision& decision);

  // ---- volumes before the binding (process_volumes.cc)
  // ------------------------------------------------------------------------------------------------
  void write_volumes(const std::shared_ptr<Flight>& flight);
  void await_claims(const std::shared_ptr<Flight>& flight);
  /// What changed may be what flights wait for.
  void look_at_awaited_claims();
  /// Of one flight: true if its claims are bound, false if not yet, an error if they will not be.
  Result<bool> claims_are_bound(const Flight& flight) const;
  Result<bool> volume_is_given(const Flight& flight, std::size_t index) const;
  Result<bool> claim_is_provisioned(const Flight& flight, std::size_t index) const;
  void lose_volumes(const std::shared_ptr<Flight>& flight, const std::string& why);

  /// One profile at work. All share the queue, the state and the groups.
  struct Desk {
    Desk(Process& process, sched::Framework made)
        : framework(std::move(made)), decider(framework, process.state_),
          events(process.client_, process.loop_, process.rng_.fork(1), framework.scheduler_name()) {
    }
    sched::Framework framework;
    sched::Decider decider;
    client::EventRecorder events;
  };
  static std::vector<std::unique_ptr<Desk>> desks(Process& process,
                                                  std::vector<sched::Framework> frameworks);
  /// Whose pod it is; null: not ours.
  Desk* find_desk(std::string_view scheduler_name) const;
  /// The same for a pod that is ours (the first desk if it is not any more).
  Desk& desk_of(const sched::PodInfo& pod) const;

  struct Seen {
    api::Object object;
    sched::PodPtr pod;
  };

  client::Client& client_;
  Loop& loop_;
  Rng rng_;
  std::shared_ptr<gang::Groups> groups_;
  sched::ClusterState state_;
  std::vector<std::unique_ptr<Desk>> desks_; ///< one a profile, at least one
  sched::NodeSampling sampling_;
  sched::Queue queue_;
  sched::WaitingPods waiting_;
  std::vector<std::unique_ptr<client::Informer>> informers_;
  std::map<std::string, Seen, std::less<>> pods_;        ///< every live pod, by uid
  std::vector<std::shared_ptr<Flight>> awaiting_claims_; ///< in order of their decisions
  Timer timer_;
  std::vector<sched::Extender> extenders_;
  HttpPoster poster_;
  const client::Informer* nodes_ = nullptr; ///< whole nodes, for extenders
  bool asking_ = false;                     ///< extenders have questions of one pod
  bool step_posted_ = false;
  bool stopped_ = false;
  std::uint64_t binding_ = 0; ///< bindings whose answer is not in
  SchedulerStats stats_;
  explain::Book book_;
  Metrics metrics_;
};

} // namespace berth::scheduler
