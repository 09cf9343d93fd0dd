// Decisions carried out: bindings, conditions, events, evictions.
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/sched/message.h"
#include "berth/scheduler/pod_status.h"
#include "berth/scheduler/process.h"

namespace berth::scheduler {
namespace {

/// Does the pod's status say this already?
bool says_already(const model::Pod& pod, std::string_view reason, const std::string& message,
                  const std::optional<std::string>& nominated_node) {
  const model::Condition* known = pod.status.condition("PodScheduled");
  return known != nullptr && known->status == "False" && known->reason == reason &&
         known->message == message &&
         (!nominated_node || *nominated_node == pod.status.nominated_node_name);
}

/// Drops what a callback outlives.
template <class T> void ignore_answer(Result<T>) {}

} // namespace

void Scheduler::Process::bind(sched::QueuedPod queued, const sched::Decision& decision,
                              TimePoint since) {
  auto flight = std::make_shared<Flight>();
  flight->binding = {.pod = queued.pod->pod->key(),
                     .uid = queued.pod->pod->meta.uid,
                     .node = decision.node_name,
                     .annotations = {}};
  flight->binding.annotations.insert(decision.annotations.begin(), decision.annotations.end());
  flight->node = decision.node;
  flight->volumes = decision.volumes;
  flight->queued = std::move(queued);
  flight->since = since;
  ++binding_;
  if (flight->volumes.empty()) {
    send_binding(flight);
  } else {
    write_volumes(flight);
  }
}

void Scheduler::Process::send_binding(const std::shared_ptr<Flight>& flight) {
  if (flight->sent == TimePoint()) {
    flight->sent = loop_.now();
    if (!flight->volumes.empty()) {
      metrics_.extension_point(profile_of(*flight->queued.pod), Metrics::Point::PreBind,
                               Metrics::Status::Success, flight->sent - flight->since);
    }
  }
  if (send_to_extender(flight)) {
    return;
  }
  client_.bind(flight->binding, [self = weak_from_this(), flight](Result<api::Object> answer) {
    if (const auto process = self.lock(); process && !process->stopped_) {
      process->on_binding_answer(flight, std::move(answer));
    }
  });
}

/// The room stays taken until it is certain that the binding was not made: a lost answer may hide a
/// binding, and giving its GPUs to another pod would give them away twice.
void Scheduler::Process::on_binding_answer(const std::shared_ptr<Flight>& flight,
                                           Result<api::Object> answer) {
  if (answer) {
    desk_of(*flight->queued.pod)
        .events.record(*answer, client::EventType::Normal, "Scheduled",
                       fmt::format("Successfully assigned {} to {}", answer->key().to_string(),
                                   flight->binding.node));
    land(*flight);
  } else if (answer.error().code == Code::NotFound) {
    lose(*flight, fmt::format("binding rejected: {}", answer.error().message));
  } else if (answer.error().code == Code::Conflict) {
    look_where_it_is(flight, answer.error().message);
  } else {
    later([this, flight] { send_binding(flight); });
  }
}

/// Refused as bound or changed: by whom, and to what, the pod itself says.
void Scheduler::Process::look_where_it_is(const std::shared_ptr<Flight>& flight,
                                          const std::string& refusal) {
  client_.get(client::kPods, flight->binding.pod,
              [self = weak_from_this(), flight, refusal](Result<api::Object> pod) {
                const auto process = self.lock();
                if (!process || process->stopped_) {
                  return;
                }
                if (!pod && pod.error().code != Code::NotFound) {
                  process->later([raw = process.get(), flight, refusal] {
                    raw->look_where_it_is(flight, refusal);
                  });
                } else if (pod && pod->meta().uid == flight->binding.uid &&
                           !api::string_at(pod->json(), "spec.nodeName").empty()) {
                  process->land(*flight);
                } else {
                  process->lose(*flight, fmt::format("binding rejected: {}", refusal));
                }
              });
}

void Scheduler::Process::later(Task task) {
  loop_.after(Duration::seconds(1), [self = weak_from_this(), task = std::move(task)] {
    if (const auto process = self.lock(); process && !process->stopped_) {
      task();
    }
  });
}

/// The pod is bound; the informer says so too, sooner or later.
void Scheduler::Process::land(const Flight& flight) {
  --binding_;
  ++stats_.bound;
  const std::size_t profile = profile_of(*flight.queued.pod);
  metrics_.extension_point(profile, Metrics::Point::Bind, Metrics::Status::Success,
                           loop_.now() - flight.sent);
  metrics_.attempt(profile, AttemptResult::Scheduled, loop_.now() - flight.since);
  metrics_.bound(flight.queued, loop_.now());
  queue_.done(flight.queued.pod->uid);
  desk_of(*flight.queued.pod).framework.post_bind(flight.queued.pod, flight.node, state_);
  wake();
}

/// The pod is not bound and will not be: it gives its room back and tries again, unless it is gone.
void Scheduler::Process::lose(const Flight& flight, const std::string& message) {
  --binding_;
  ++stats_.bind_failures;
  const bool sent = flight.sent != TimePoint();
  metrics_.extension_point(
      profile_of(*flight.queued.pod), sent ? Metrics::Point::Bind : Metrics::Point::PreBind,
      Metrics::Status::Error, loop_.now() - (sent ? flight.sent : flight.since));
  sched::Decision failed;
  failed.outcome = sched::Outcome::Error;
  failed.message = message;
  failed.reserved_then_lost = true;
  if (state_.find_pod(flight.queued.pod->uid) != nullptr) {
    failed.effects = undo_decision(desk_of(*flight.queued.pod).framework, state_, flight.queued.pod,
                                   flight.node);
  }
  book_.amend(flight.queued.pod->uid, "Error", failed.message);
  settle(flight.queued, std::move(failed), flight.since);
  wake();
}

void Scheduler::Process::unschedulable(sched::QueuedPod queued, const sched::Decision& decision,
                                       TimePoint since) {
  ++stats_.rejected;
  const sched::PodPtr pod = queued.pod;
  const bool leftover = queued.leftover;
  const bool error = decision.outcome == sched::Outcome::Error;
  metrics_.attempt(profile_of(*pod), error ? AttemptResult::Error : AttemptResult::Unschedulable,
                   loop_.now() - since);
  queue_.retry_later(std::move(queued),
                     sched::Failure{.unschedulable_plugins = decision.unschedulable_plugins,
                                    .pending_plugins = decision.pending_plugins},
                     loop_.now());
  if (decision.reserved_then_lost) {
    tell_queue(sched::assigned_pod_deleted(pod),
               error ? std::string_view() : std::string_view(pod->uid));
  }
  for (const sched::PodPtr& victim : decision.victims) {
    evict(victim, pod, decision);
  }
  const auto seen = pods_.find(pod->uid);
  if (seen == pods_.end()) {
    return; // deleted meanwhile
  }
  const std::string_view reason = error ? "SchedulerError" : "Unschedulable";
  const bool nothing_new =
      says_already(*seen->second.pod->pod, reason, decision.message, decision.nominated_node);
  if (!(leftover && nothing_new)) {
    desk_of(*pod).events.record(seen->second.object, client::EventType::Warning, "FailedScheduling",
                                sched::event_note(decision.message));
  }
  if (!nothing_new) {
    write_condition(pod->uid, reason, decision.message, decision.nominated_node);
  }
}

void Scheduler::Process::write_condition(const std::string& uid, std::string_view reason,
                                         const std::string& message,
                                         std::optional<std::string> nominated_node) {
  const auto seen = pods_.find(uid);
  const auto patch = condition_patch(
      seen->second.object,
      {.type = "PodScheduled", .status = "False", .reason = reason, .message = message},
      nominated_node, loop_.now());
  if (!patch) {
    return;
  }
  const api::Key key = seen->second.object.key();
  client_.patch(
      client::kPods, key, *patch, client::Subresource::Status,
      [self = weak_from_this(), uid, reason = std::string(reason), message,
       nominated_node](Result<api::Object> answer) {
        const auto process = self.lock();
        const bool again =
            !answer &&
            (answer.error().code == Code::Conflict || answer.error().code == Code::Unavailable ||
             answer.error().code == Code::Timeout || answer.error().code == Code::Internal);
        if (!process || process->stopped_ || !again) {
          return;
        }
        process->loop_.after(Duration::seconds(1), [self, uid, reason, message, nominated_node] {
          const auto later = self.lock();
          if (later && !later->stopped_ && later->pods_.contains(uid) &&
              later->state_.find_pod(uid) == nullptr) {
            later->write_condition(uid, reason, message, nominated_node);
          }
        });
      });
}

void Scheduler::Process::evict(const sched::PodPtr& victim, const sched::PodPtr& by,
                               const sched::Decision& decision) {
  ++stats_.preempted;
  if (auto waiting = waiting_.take(victim->uid)) {
    release(*std::move(waiting), "Preemption", fmt::format("preempted by pod {}", by->uid));
    return;
  }
  const auto seen = pods_.find(victim->uid);
  if (seen == pods_.end()) {
    return;
  }
  const api::Key key = seen->second.object.key();
  // A victim goes for a pod on its own node, unless it goes with the rest of its group.
  const sched::PlacedPod* placed = state_.find_pod(victim->uid);
  const std::string node = decision.preemption_note.empty() || placed == nullptr
                               ? decision.nominated_node.value_or("")
                               : state_.node_name(placed->node);
  const std::string note =
      decision.preemption_note.empty() ? "" : fmt::format(": {}", decision.preemption_note);
  desk_of(*by).events.record(
      seen->second.object, client::EventType::Normal, "Preempted",
      sched::event_note(fmt::format("Preempted by pod {} on node {}{}", by->uid, node, note)));
  const auto patch =
      condition_patch(seen->second.object,
                      {.type = "DisruptionTarget",
                       .status = "True",
                       .reason = "PreemptionByScheduler",
                       .message = fmt::format("{}: preempting to accommodate a higher priority pod",
                                              by->pod->spec.scheduler_name)},
                      std::nullopt, loop_.now());
  if (patch) {
    client_.patch(client::kPods, key, *patch, client::Subresource::Status,
                  &ignore_answer<api::Object>);
  }
  client_.remove(client::kPods, key,
                 {.grace_period_seconds = {},
                  .uid = victim->pod->meta.uid,
                  .resource_version = {},
                  .propagation = client::Propagation::Background},
                 [self = weak_from_this(), uid = by->uid](Result<api::Object> answer) {
                   const auto process = self.lock();
                   if (process && !process->stopped_ && !answer) {
                     const std::string uids[] = {uid};
                     process->queue_.activate(
                         uids, process->loop_.now()); // choose again, this victim did not go
                     process->wake();
                   }
                 });
}

} // namespace berth::scheduler
