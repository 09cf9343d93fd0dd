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

bool Scheduler::Process::idle() const {
  return synced() && !queue_.can_pop() && queue_.depth().backoff == 0 && waiting_.size() == 0 &&
         binding_ == 0 && !step_posted_;
}

/// Decides soon, in a task of its own, so that all that is known by then counts.
void Scheduler::Process::wake() {
  queue_.offer_rest(loop_.now());
  arm_timer();
  if (stopped_ || step_posted_ || !synced() || !queue_.can_pop()) {
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
    if (known != nullptr && groups_->placed_count(group, state_) < known->min_member) {
      decide_group(*std::move(queued));
    } else {
      decide_pod(*std::move(queued));
    }
  }
  wake();
}

void Scheduler::Process::decide_pod(sched::QueuedPod queued) {
  ++stats_.attempts;
  sched::Decision decision = desk_of(*queued.pod).decider.decide(queued.pod, cycle_options());
  settle(std::move(queued), std::move(decision));
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
                             .options = cycle_options()};
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
  gang::GroupDecision decision = place_group(desk.decider, request);
  for (gang::MemberDecision& member : decision.members) {
    settle(std::move(queued.at(member.pod->uid)), std::move(member.decision));
  }
}

void Scheduler::Process::settle(sched::QueuedPod queued, sched::Decision decision) {
  const sched::Effects effects = decision.effects;
  switch (decision.outcome) {
  case sched::Outcome::Scheduled:
    bind(std::move(queued), decision);
    break;
  case sched::Outcome::Waiting:
    waiting_.add(std::move(queued), std::move(decision), loop_.now());
    break;
  case sched::Outcome::Unschedulable:
  case sched::Outcome::Error:
    unschedulable(std::move(queued), decision);
    break;
  }
  carry_out(effects);
}

void Scheduler::Process::carry_out(const sched::Effects& effects) {
  for (const std::string& uid : effects.allow) {
    if (auto ready = waiting_.allow(uid, gang::kGangPlugin)) {
      bind(std::move(ready->queued), ready->decision);
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
  settle(std::move(waiting.queued), std::move(failed));
}

} // namespace berth::scheduler
