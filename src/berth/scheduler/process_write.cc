// Decisions carried out: bindings, conditions, events, evictions.
#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/sched/message.h"
#include "berth/scheduler/pod_status.h"
#include "berth/scheduler/process.h"

namespace berth::scheduler {
namespace {

/// Drops what a callback outlives.
template <class T> void ignore_answer(Result<T>) {}

} // namespace

void Scheduler::Process::bind(sched::QueuedPod queued, const sched::Decision& decision) {
  client::Binding binding{.pod = queued.pod->pod->key(),
                          .uid = queued.pod->pod->meta.uid,
                          .node = decision.node_name,
                          .annotations = {}};
  binding.annotations.insert(decision.annotations.begin(), decision.annotations.end());
  ++binding_;
  client_.bind(binding, [self = weak_from_this(), queued = std::move(queued), node = decision.node,
                         node_name = decision.node_name](Result<api::Object> answer) {
    if (const auto process = self.lock(); process && !process->stopped_) {
      process->bound(queued, node, node_name, std::move(answer));
    }
  });
}

void Scheduler::Process::bound(sched::QueuedPod queued, sched::NodeId node,
                               const std::string& node_name, Result<api::Object> answer) {
  --binding_;
  const sched::PodPtr pod = queued.pod;
  if (answer) {
    ++stats_.bound;
    queue_.done(pod->uid);
    framework_.post_bind(pod, node, state_);
    events_.record(
        *answer, client::EventType::Normal, "Scheduled",
        fmt::format("Successfully assigned {} to {}", pod->pod->key().to_string(), node_name));
    wake();
    return;
  }
  ++stats_.bind_failures;
  const auto seen = pods_.find(pod->uid);
  const bool landed = seen != pods_.end() && !seen->second.pod->pod->spec.node_name.empty();
  if (landed) {
    queue_.done(pod->uid); // the write went through and only its answer was lost
    wake();
    return;
  }
  sched::Decision failed;
  failed.outcome = sched::Outcome::Error;
  failed.message = fmt::format("binding rejected: {}", answer.error().message);
  failed.reserved_then_lost = true;
  if (state_.find_pod(pod->uid) != nullptr) {
    failed.effects = undo_decision(framework_, state_, pod, node);
  }
  settle(std::move(queued), std::move(failed));
  wake();
}

void Scheduler::Process::unschedulable(sched::QueuedPod queued, const sched::Decision& decision) {
  ++stats_.rejected;
  const sched::PodPtr pod = queued.pod;
  const bool error = decision.outcome == sched::Outcome::Error;
  queue_.retry_later(std::move(queued),
                     sched::Failure{.unschedulable_plugins = decision.unschedulable_plugins,
                                    .pending_plugins = decision.pending_plugins},
                     loop_.now());
  if (decision.reserved_then_lost) {
    tell_queue(sched::assigned_pod_deleted(pod),
               error ? std::string_view() : std::string_view(pod->uid));
  }
  for (const sched::PodPtr& victim : decision.victims) {
    evict(victim, pod, decision.nominated_node.value_or(""));
  }
  const auto seen = pods_.find(pod->uid);
  if (seen == pods_.end()) {
    return; // deleted meanwhile
  }
  events_.record(seen->second.object, client::EventType::Warning, "FailedScheduling",
                 sched::event_note(decision.message));
  write_condition(pod->uid, error ? "SchedulerError" : "Unschedulable", decision.message,
                  decision.nominated_node);
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
                               const std::string& node) {
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
  events_.record(seen->second.object, client::EventType::Normal, "Preempted",
                 fmt::format("Preempted by pod {} on node {}", by->uid, node));
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
