// One task of the loop decides one pod, or one pod group whole.
#include <algorithm>

#include "berth/scheduler/process.h"

namespace berth::scheduler {
namespace {

/// Does the profile hold the members of a pod group together?
bool places_groups(const sched::Framework& framework) {
  const auto* gang = framework.find(gang::kGangPlugin);
  return gang != nullptr && gang->has(sched::Point::Permit);
}

} // namespace

bool Scheduler::Process::synced() const {
  return !informers_.empty() &&
         std::ranges::all_of(informers_, [](const auto& informer) { return informer->synced(); });
}

void Scheduler::Process::on_sync(Task task) {
  const auto once = std::make_shared<Task>(std::move(task));
  for (const auto& informer : informers_) {
    informer->on_sync([this, once] {
      if (*once && synced()) {
        std::exchange(*once, nullptr)();
      }
    });
  }
}

bool Scheduler::Process::idle() const {
  return synced() && !queue_.can_pop() && (queue_.depth().backoff == 0 || only_vain_retries()) &&
         waiting_.size() == 0 && binding_ == 0 && !step_posted_ && !asking_;
}

/// Decides soon, in a task of its own, so that all that is known by then counts.
void Scheduler::Process::wake() {
  queue_.offer_rest(loop_.now());
  arm_timer();
  if (stopped_ || step_posted_ || asking_ || !synced() || !queue_.can_pop()) {
    return;
  }
  step_posted_ = true;
  loop_.post([self = weak_from_this()] {
    if (const auto process = self.lock(); process && !process->stopped_) {
      process->step_posted_ = false;
      process->decide_next();
    }
  });
}

/// One timer, for the first instant at which waiting alone changes something.
void Scheduler::Process::arm_timer() {
  if (stopped_ || !synced()) {
    return;
  }
  auto due = queue_.next_wakeup();
  if (const auto deadline = waiting_.next_deadline(); deadline && (!due || *deadline < *due)) {
    due = deadline;
  }
  if (!due) {
    timer_.cancel();
    return;
  }
  timer_.set(*due - loop_.now(), [this] {
    for (auto& [waiting, plugin] : waiting_.expire(loop_.now())) {
      release(std::move(waiting), plugin, sched::permit_timeout_message(plugin));
    }
    queue_.flush(loop_.now());
    wake();
  });
}

sched::CycleOptions Scheduler::Process::cycle_options() {
  sched::CycleOptions options;
  options.tie_break = sched::TieBreak::LowestIndex;
  options.sampling = &sampling_;
  options.now = loop_.now();
  return options;
}

void Scheduler::Process::decide_next() {
  if (auto queued = queue_.pop(loop_.now())) {
    const api::Key group = gang::group_of(*queued->pod);
    const bool whole = places_groups(desk_of(*queued->pod).framework);
    const model::PodGroup* known = !whole || group.name.empty() ? nullptr : groups_->find(group);
    // A group whose members extenders have a say in is decided one by one and waits at Permit.
    if (known != nullptr && !is_extended(*queued->pod) &&
        groups_->placed_count(group, state_) < known->min_member) {
      decide_group(*std::move(queued));
    } else {
      decide_pod(*std::move(queued));
    }
  }
  wake();
}

void Scheduler::Process::keep(const sched::QueuedPod& queued, const sched::Decision& decision) {
  if (book_.wants(*queued.pod)) {
    book_.add(queued.pod->uid,
              explain::make_attempt(queued, decision, state_,
                                    desk_of(*queued.pod).framework.scheduler_name(), loop_.now()));
  }
}

void Scheduler::Process::decide_pod(sched::QueuedPod queued) {
  ++stats_.attempts;
  auto attempt = std::make_shared<Attempt>();
  if (is_extended(*queued.pod)) {
    attempt->talk =
        std::make_unique<sched::ExtenderTalk>(extenders_, *queued.pod, state_.resource_names());
  }
  attempt->queued = std::move(queued);
  attempt->since = loop_.now();
  decide(std::move(attempt));
}

void Scheduler::Process::decide(std::shared_ptr<Attempt> attempt) {
  const sched::PodInfo& pod = *attempt->queued.pod;
  Desk& desk = desk_of(pod);
  sched::CycleOptions options = cycle_options();
  options.explain = book_.wants(pod) ? sched::Explain::Table : sched::Explain::No;
  options.extenders = attempt->talk.get();
  sched::Decision decision = desk.decider.decide(attempt->queued.pod, options);
  if (!decision.questions.empty()) {
    ask_extenders(attempt);
    return;
  }
  metrics_.decided(loop_.now() - attempt->since);
  metrics_.evaluated(profile_of(pod), decision.feasible_nodes);
  if (decision.outcome == sched::Outcome::Unschedulable && !decision.reserved_then_lost &&
      (desk.framework.find("DefaultPreemption") != nullptr ||
       gang::preempts_for_groups(desk.framework))) {
    metrics_.preemption_tried(decision.victims.size());
  }
  keep(attempt->queued, decision);
  settle(std::move(attempt->queued), std::move(decision), attempt->since);
}

/// All waiting members of the first one's group are decided together.
void Scheduler::Process::decide_group(sched::QueuedPod first) {
  const api::Key key = gang::group_of(*first.pod);
  Desk& desk = desk_of(*first.pod);
  std::map<std::string, sched::QueuedPod> queued;
  gang::GroupRequest request{.key = key,
                             .min_member = groups_->find(key)->min_member,
                             .already_placed = groups_->placed_count(key, state_),
                             .pending = {},
                             .placed_on = {},
                             .options = cycle_options(),
                             .explained = {}};
  request.pending.push_back(first.pod);
  queued.emplace(first.pod->uid, std::move(first));
  for (const gang::Groups::Member& member : groups_->members(key)) {
    if (find_desk(member.pod->pod->spec.scheduler_name) != &desk) {
      continue; // it is another profile's, or another scheduler's, to decide
    }
    if (const sched::PlacedPod* placed = state_.find_pod(member.pod->uid)) {
      request.placed_on.push_back(placed->node);
    } else if (auto sibling = queue_.take(member.pod->uid, loop_.now())) {
      request.pending.push_back(sibling->pod);
      queued.emplace(member.pod->uid, *std::move(sibling));
    }
  }
  stats_.attempts += request.pending.size();
  for (const sched::PodPtr& pod : request.pending) {
    if (book_.wants(*pod)) {
      request.explained.insert(pod->uid);
    }
  }
  gang::GroupDecision decision = place_or_preempt(desk.decider, *groups_, request);
  metrics_.decided(loop_.now() - request.options.now);
  std::size_t victims = 0;
  for (const gang::MemberDecision& member : decision.members) {
    victims += member.decision.victims.size();
    metrics_.evaluated(profile_of(*member.pod), member.decision.feasible_nodes);
    keep(queued.at(member.pod->uid), member.decision);
  }
  if (!decision.placed && gang::preempts_for_groups(desk.framework)) {
    metrics_.preemption_tried(victims);
  }
  for (gang::MemberDecision& member : decision.members) {
    settle(std::move(queued.at(member.pod->uid)), std::move(member.decision), request.options.now);
  }
}

void Scheduler::Process::settle(sched::QueuedPod queued, sched::Decision decision,
                                TimePoint since) {
  const sched::Effects effects = decision.effects;
  switch (decision.outcome) {
  case sched::Outcome::Scheduled:
    bind(std::move(queued), decision, since);
    break;
  case sched::Outcome::Waiting:
    waiting_.add(std::move(queued), std::move(decision), loop_.now());
    break;
  case sched::Outcome::Unschedulable:
  case sched::Outcome::Error:
    unschedulable(std::move(queued), decision, since);
    break;
  }
  carry_out(effects);
}

void Scheduler::Process::carry_out(const sched::Effects& effects) {
  for (const std::string& uid : effects.allow) {
    if (auto ready = waiting_.allow(uid, gang::kGangPlugin)) {
      metrics_.permit_wait(Metrics::Permit::Allowed, loop_.now() - ready->since);
      bind(std::move(ready->queued), ready->decision, ready->since);
    }
  }
  for (const std::string& uid : effects.reject) {
    if (auto waiting = waiting_.take(uid)) {
      release(*std::move(waiting), std::string(gang::kGangPlugin), "rejection in Unreserve");
    }
  }
  if (!effects.activate.empty()) {
    queue_.activate(effects.activate, loop_.now());
  }
}

/// A waiting pod loses its node and goes back to the queue.
void Scheduler::Process::release(sched::WaitingPod waiting, const std::string& plugin,
                                 std::string message) {
  sched::Decision failed;
  failed.message = std::move(message);
  failed.unschedulable_plugins = {plugin};
  failed.reserved_then_lost = true;
  failed.effects = undo_decision(desk_of(*waiting.queued.pod).framework, state_, waiting.queued.pod,
                                 waiting.decision.node);
  book_.amend(waiting.queued.pod->uid, "Unschedulable", failed.message);
  metrics_.permit_wait(Metrics::Permit::Refused, loop_.now() - waiting.since);
  settle(std::move(waiting.queued), std::move(failed), waiting.since);
}

} // namespace berth::scheduler
