// Extenders: their questions are carried between the steps of a decision, and one may bind.
#include <algorithm>

#include <fmt/format.h>

#include "berth/scheduler/process.h"

namespace berth::scheduler {

bool Scheduler::Process::is_extended(const sched::PodInfo& pod) const {
  return std::ranges::any_of(extenders_, [&](const sched::Extender& extender) {
    return sched::is_interested(extender, pod, state_.resource_names());
  });
}

bool Scheduler::Process::only_vain_retries() const {
  constexpr int kVain = 4; // failures in a row after which nobody should wait for the next
  if (extenders_.empty()) {
    return false;
  }
  bool vain = true;
  queue_.for_each_waiting([&](const sched::QueuedPod& pod) {
    const auto place = queue_.where(pod.pod->uid);
    const bool retries =
        place == sched::Queue::Place::Backoff || place == sched::Queue::Place::ErrorBackoff;
    vain = vain && (!retries || (pod.consecutive_errors >= kVain && is_extended(*pod.pod)));
  });
  return vain;
}

void Scheduler::Process::ask_extenders(const std::shared_ptr<Attempt>& attempt) {
  asking_ = true;
  const ExtenderObjects objects{
      .pod = pods_.contains(attempt->queued.pod->uid) ? pods_.at(attempt->queued.pod->uid).object
                                                      : api::Object(),
      .node =
          [this](std::string_view name) {
            const api::Object* node =
                nodes_ == nullptr ? nullptr : nodes_->find({"", std::string(name)});
            return node == nullptr ? api::Object() : *node;
          },
      .victim =
          [this](std::string_view uid) {
            const auto seen = pods_.find(uid);
            return seen == pods_.end() ? api::Object() : seen->second.object;
          }};
  // A copy: answers take questions away.
  const std::vector<sched::ExtenderQuestion> questions = attempt->talk->questions();
  for (const sched::ExtenderQuestion& question : questions) {
    ask_extender(
        poster_, extenders_[question.extender], question, objects,
        [self = weak_from_this(), attempt, question](Result<sched::ExtenderAnswer> answer) {
          const auto process = self.lock();
          if (!process || process->stopped_) {
            return;
          }
          attempt->talk->answer(question, std::move(answer));
          if (attempt->talk->questions().empty()) {
            process->loop_.post([self, attempt] {
              if (const auto later = self.lock(); later && !later->stopped_) {
                later->resume(attempt);
              }
            });
          }
        });
  }
}

void Scheduler::Process::resume(const std::shared_ptr<Attempt>& attempt) {
  asking_ = false;
  const std::string& uid = attempt->queued.pod->uid;
  if (!pods_.contains(uid) || state_.find_pod(uid) != nullptr) {
    queue_.done(uid); // deleted or placed by another meanwhile
  } else {
    decide(attempt);
  }
  wake();
}

bool Scheduler::Process::send_to_extender(const std::shared_ptr<Flight>& flight) {
  const auto binder = std::ranges::find_if(extenders_, [&](const sched::Extender& extender) {
    return !extender.bind_verb.empty() &&
           sched::is_interested(extender, *flight->queued.pod, state_.resource_names());
  });
  if (binder == extenders_.end()) {
    return false;
  }
  bind_by_extender(poster_, *binder, flight->binding,
                   [self = weak_from_this(), flight](Result<void> answer) {
                     const auto process = self.lock();
                     if (!process || process->stopped_) {
                       return;
                     }
                     process->loop_.post([self, flight, answer = std::move(answer)] {
                       if (const auto later = self.lock(); later && !later->stopped_) {
                         later->on_extender_bound(flight, answer);
                       }
                     });
                   });
  return true;
}

void Scheduler::Process::on_extender_bound(const std::shared_ptr<Flight>& flight,
                                           const Result<void>& answer) {
  if (!answer) {
    lose(*flight, fmt::format("binding rejected: {}", answer.error().message));
    return;
  }
  const sched::PodPtr& pod = flight->queued.pod;
  if (const auto seen = pods_.find(pod->uid); seen != pods_.end()) {
    desk_of(*pod).events.record(seen->second.object, client::EventType::Normal, "Scheduled",
                                fmt::format("Successfully assigned {} to {}",
                                            flight->binding.pod.to_string(), flight->binding.node));
  }
  land(*flight);
}

} // namespace berth::scheduler
