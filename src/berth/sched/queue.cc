#include "berth/sched/queue.h"

#include <algorithm>

#include "berth/base/assert.h"
#include "berth/sched/framework.h"

namespace berth::sched {
namespace {

/// The first multiple of `step` at or after `t`.
TimePoint round_up(TimePoint t, Duration step) {
  const std::int64_t size = step.count_nanos();
  const std::int64_t over = t.unix_nanos() % size;
  return over == 0 ? t : t + Duration::nanos(size - over);
}

} // namespace

QueuePolicy queue_policy(const Framework& framework) {
  return {.less = [&framework](const QueuedPod& a,
                               const QueuedPod& b) { return framework.queue_sort().less(a, b); },
          .pre_enqueue = [&framework](const PodInfo& pod) { return framework.pre_enqueue(pod); },
          .hint =
              [&framework](std::string_view plugin, const PodInfo& pod, const ClusterEvent& event) {
                return framework.hint(plugin, pod, event);
              },
          .interested =
              [&framework](std::string_view plugin, const ClusterEvent& event) {
                return framework.interested(plugin, event);
              }};
}

bool Queue::ActiveLess::operator()(const Item* a, const Item* b) const {
  if (policy->less(a->info, b->info)) {
    return true;
  }
  return !policy->less(b->info, a->info) && a->serial < b->serial;
}

bool Queue::BackoffLess::operator()(const Item* a, const Item* b) const {
  return a->due != b->due ? a->due < b->due : active(a, b);
}

Queue::Queue(QueuePolicy policy, QueueOptions options)
    : policy_(std::make_unique<QueuePolicy>(std::move(policy))), options_(options),
      active_(ActiveLess{policy_.get()}), backoff_(BackoffLess{{policy_.get()}}),
      error_backoff_(BackoffLess{{policy_.get()}}) {}

Queue::Item* Queue::item(std::string_view uid) const {
  const auto it = items_.find(uid);
  return it == items_.end() ? nullptr : it->second.get();
}

// ---- places
// -----------------------------------------------------------------------------------------

/// Plugins whose events can move a parked pod.
std::vector<std::string> Queue::watchers(const Item& item) {
  if (item.place == Place::Gated) {
    return {item.info.gating_plugin};
  }
  std::vector<std::string> plugins = item.info.unschedulable_plugins;
  plugins.insert(plugins.end(), item.info.pending_plugins.begin(), item.info.pending_plugins.end());
  return plugins;
}

void Queue::detach(Item& item) {
  switch (item.place) {
  case Place::Active:
    active_.erase(&item);
    return;
  case Place::Backoff:
    backoff_.erase(&item);
    return;
  case Place::ErrorBackoff:
    error_backoff_.erase(&item);
    return;
  case Place::InFlight:
    log_.close(item.flight);
    --in_flight_;
    return;
  case Place::Unschedulable:
    unschedulable_.erase({item.info.timestamp, item.serial});
    break;
  case Place::Gated:
    --gated_;
    break;
  }
  for (const std::string& plugin : watchers(item)) {
    parked_by_plugin_[plugin].erase(item.serial);
  }
}

void Queue::attach(Item& item, Place place) {
  item.place = place;
  switch (place) {
  case Place::Active:
    active_.insert(&item);
    return;
  case Place::Backoff:
    backoff_.insert(&item);
    return;
  case Place::ErrorBackoff:
    error_backoff_.insert(&item);
    return;
  case Place::InFlight:
    item.flight = log_.open();
    ++in_flight_;
    return;
  case Place::Unschedulable:
    unschedulable_.emplace(std::pair(item.info.timestamp, item.serial), &item);
    break;
  case Place::Gated:
    ++gated_;
    break;
  }
  for (const std::string& plugin : watchers(item)) {
    parked_by_plugin_[plugin].emplace(item.serial, &item);
  }
}

/// Into the active queue or a backoff, unless PreEnqueue vetoes. Precondition: detached.
void Queue::enter(Item& item, Place place) {
  if (const Status status = policy_->pre_enqueue(*item.info.pod); !status.ok()) {
    item.info.gating_plugin = status.plugin;
    attach(item, Place::Gated);
    return;
  }
  item.info.gating_plugin.clear();
  attach(item, place);
}

/// Precondition: detached.
void Queue::wake(Item& item, Urgency urgency, TimePoint now) {
  const TimePoint end = backoff_end(item.info);
  if (urgency == Urgency::Now || end <= now) {
    enter(item, Place::Active);
    return;
  }
  item.due = round_up(end, Duration::seconds(1));
  enter(item, item.info.consecutive_errors > 0 ? Place::ErrorBackoff : Place::Backoff);
}

TimePoint Queue::backoff_end(const QueuedPod& pod) const {
  const int count = pod.consecutive_errors > 0 ? pod.consecutive_errors : pod.unschedulable_count;
  if (count == 0 || options_.max_backoff == Duration()) {
    return pod.timestamp;
  }
  Duration wait = options_.initial_backoff;
  for (int i = 1; i < count && wait < options_.max_backoff; ++i) {
    wait = wait * 2;
  }
  return pod.timestamp + std::min(wait, options_.max_backoff);
}

/// The first check after the pod has been unschedulable for longer than allowed.
TimePoint Queue::leftover_due(const QueuedPod& pod) const {
  return round_up(pod.timestamp + options_.max_in_unschedulable + Duration::nanos(1),
                  options_.leftover_check);
}

// ---- pods come, change and go
// -----------------------------------------------------------------------

void Queue::add(const PodPtr& pod, TimePoint now) {
  if (Item* known = item(pod->uid)) {
    known->removed = false;
    update(pod, now);
    return;
  }
  auto fresh = std::make_unique<Item>();
  fresh->info.pod = pod;
  fresh->info.timestamp = now;
  fresh->serial = next_serial_++;
  Item& added = *items_.emplace(pod->uid, std::move(fresh)).first->second;
  enter(added, Place::Active);
}

void Queue::update(const PodPtr& pod, TimePoint now) {
  Item* known = item(pod->uid);
  if (known == nullptr) {
    add(pod, now);
    return;
  }
  if (known->place == Place::InFlight) {
    const PodPtr& before = known->updated ? known->updated : known->info.pod;
    if (const ClusterEvent change = unscheduled_pod_updated(before, pod); change.action != 0) {
      log_.record(change, {});
    }
    known->updated = pod;
    return;
  }
  const ClusterEvent change = unscheduled_pod_updated(known->info.pod, pod);
  const Place place = known->place;
  detach(*known);
  known->info.pod = pod;
  if (place == Place::Unschedulable || place == Place::Gated) {
    known->place = place;
    update_parked(*known, change, now);
  } else {
    attach(*known, place);
  }
}

/// A parked pod's own change. Precondition: detached, with its old place.
void Queue::update_parked(Item& item, const ClusterEvent& change, TimePoint now) {
  if (item.place == Place::Gated && change.action != 0) {
    enter(item, Place::Active);
    return;
  }
  const auto urgency = change.action == 0 ? std::nullopt : helps(item, change);
  if (urgency) {
    wake(item, *urgency, now);
  } else {
    attach(item, item.place);
  }
}

void Queue::remove(std::string_view uid) {
  Item* known = item(uid);
  if (known == nullptr) {
    return;
  }
  if (known->place == Place::InFlight) {
    known->removed = true;
    return;
  }
  detach(*known);
  items_.erase(items_.find(uid));
}

// ---- attempts
// ---------------------------------------------------------------------------------------

/// Precondition: attached, not in flight.
QueuedPod Queue::launch(Item& item, TimePoint now) {
  detach(item);
  attach(item, Place::InFlight);
  item.activated = false;
  ++item.info.attempts;
  if (item.info.initial_attempt == TimePoint()) {
    item.info.initial_attempt = now;
  }
  return item.info;
}

std::optional<QueuedPod> Queue::pop(TimePoint now) {
  if (!active_.empty()) {
    return launch(**active_.begin(), now);
  }
  if (!backoff_.empty()) {
    return launch(**backoff_.begin(), now);
  }
  return std::nullopt;
}

std::optional<QueuedPod> Queue::take(std::string_view uid, TimePoint now) {
  Item* known = item(uid);
  if (known == nullptr || known->place == Place::Gated || known->place == Place::InFlight) {
    return std::nullopt;
  }
  return launch(*known, now);
}

void Queue::done(std::string_view uid) {
  Item* known = item(uid);
  if (known != nullptr && known->place == Place::InFlight) {
    detach(*known);
    items_.erase(items_.find(uid));
  }
}

void Queue::retry_later(QueuedPod pod, const Failure& failure, TimePoint now) {
  Item* known = item(pod.pod->uid);
  if (known == nullptr) {
    // done() was called before the bind failed: events are gone, backoff alone brings it back.
    auto fresh = std::make_unique<Item>();
    fresh->place = Place::InFlight;
    known = items_.emplace(pod.pod->uid, std::move(fresh)).first->second.get();
    attach(*known, Place::InFlight);
  }
  BERTH_ASSERT(known->place == Place::InFlight, "pod is not in flight: " + pod.pod->uid);
  if (known->removed) {
    done(pod.pod->uid);
    return;
  }
  known->info = std::move(pod);
  known->info.pod = known->updated ? std::move(known->updated) : known->info.pod;
  known->updated = nullptr;
  known->serial = next_serial_++;
  known->info.timestamp = now;
  known->info.unschedulable_plugins = failure.unschedulable_plugins;
  known->info.pending_plugins = failure.pending_plugins;
  if (failure.unschedulable_plugins.empty() && failure.pending_plugins.empty()) {
    ++known->info.consecutive_errors;
    detach(*known);
    wake(*known, Urgency::AfterBackoff, now);
    return;
  }
  known->info.consecutive_errors = 0;
  ++known->info.unschedulable_count;
  const auto urgency = known->activated ? Urgency::Now : missed(*known);
  detach(*known);
  if (urgency) {
    wake(*known, *urgency, now);
  } else {
    attach(*known, Place::Unschedulable);
  }
}

/// What the pod's flight missed that helps it.
std::optional<Queue::Urgency> Queue::missed(const Item& item) const {
  std::optional<Urgency> best;
  log_.replay(item.flight, [&](const EventLog::Entry& entry) {
    if (entry.except != item.info.pod->uid) {
      if (const auto urgency = helps(item, entry.event); urgency && best != Urgency::Now) {
        best = urgency;
      }
    }
    return best != Urgency::Now;
  });
  return best;
}

// ---- events
// -----------------------------------------------------------------------------------------

/// Should the event wake the pod? A pending plugin's yes bypasses backoff.
std::optional<Queue::Urgency> Queue::helps(const Item& item, const ClusterEvent& event) const {
  const PodInfo& pod = *item.info.pod;
  const bool own = event.new_pod && event.new_pod->uid == pod.uid;
  if (event.resource == EventResource::Wildcard ||
      (own && (event.action & actions::kUpdate) != 0)) {
    return Urgency::AfterBackoff;
  }
  const auto says_queue = [&](const std::string& plugin) {
    return policy_->hint(plugin, pod, event) == Hint::Queue;
  };
  if (std::ranges::any_of(item.info.pending_plugins, says_queue)) {
    return Urgency::Now;
  }
  return std::ranges::any_of(item.info.unschedulable_plugins, says_queue)
             ? std::optional(Urgency::AfterBackoff)
             : std::nullopt;
}

/// Parked pods that some interested plugin rejected, in order of entry.
std::vector<Queue::Item*> Queue::concerned(const ClusterEvent& event) const {
  BySerial found;
  for (const auto& [plugin, pods] : parked_by_plugin_) {
    if (!pods.empty() && (!policy_->interested || policy_->interested(plugin, event))) {
      found.insert(pods.begin(), pods.end());
    }
  }
  std::vector<Item*> items;
  items.reserve(found.size());
  for (const auto& [serial, item] : found) {
    items.push_back(item);
  }
  return items;
}

void Queue::on_event(const ClusterEvent& event, TimePoint now, std::string_view except) {
  log_.record(event, except);
  for (Item* parked : concerned(event)) {
    if (parked->info.pod->uid == except) {
      continue;
    }
    if (parked->place == Place::Gated) {
      if (policy_->hint(parked->info.gating_plugin, *parked->info.pod, event) == Hint::Queue) {
        detach(*parked);
        enter(*parked, Place::Active);
      }
    } else if (const auto urgency = helps(*parked, event)) {
      detach(*parked);
      wake(*parked, *urgency, now);
    }
  }
}

void Queue::activate(std::span<const std::string> uids, TimePoint now) {
  for (const std::string& uid : uids) {
    Item* known = item(uid);
    if (known == nullptr || known->place == Place::Active) {
      continue;
    }
    if (known->place == Place::InFlight) {
      known->activated = true;
    } else {
      detach(*known);
      wake(*known, Urgency::Now, now);
    }
  }
}

// ---- time
// -------------------------------------------------------------------------------------------

void Queue::flush(TimePoint now) {
  for (auto* backoff : {&backoff_, &error_backoff_}) {
    while (!backoff->empty() && (*backoff->begin())->due <= now) {
      Item& due = **backoff->begin();
      detach(due);
      attach(due, Place::Active);
    }
  }
  while (options_.max_in_unschedulable != Duration::max() && !unschedulable_.empty() &&
         leftover_due(unschedulable_.begin()->second->info) <= now) {
    Item& leftover = *unschedulable_.begin()->second;
    detach(leftover);
    wake(leftover, Urgency::AfterBackoff, now);
  }
}

std::optional<TimePoint> Queue::next_wakeup() const {
  std::optional<TimePoint> next;
  const auto consider = [&](TimePoint t) { next = next ? std::min(*next, t) : t; };
  if (!backoff_.empty()) {
    consider((*backoff_.begin())->due);
  }
  if (!error_backoff_.empty()) {
    consider((*error_backoff_.begin())->due);
  }
  if (!unschedulable_.empty() && options_.max_in_unschedulable != Duration::max()) {
    consider(leftover_due(unschedulable_.begin()->second->info));
  }
  return next;
}

// ---- reading
// ----------------------------------------------------------------------------------------

Queue::Depth Queue::depth() const {
  return {.active = active_.size(),
          .backoff = backoff_.size() + error_backoff_.size(),
          .unschedulable = unschedulable_.size(),
          .gated = gated_,
          .in_flight = in_flight_};
}

const QueuedPod* Queue::find(std::string_view uid) const {
  const Item* known = item(uid);
  return known == nullptr || known->place == Place::InFlight ? nullptr : &known->info;
}

std::optional<Queue::Place> Queue::where(std::string_view uid) const {
  const Item* known = item(uid);
  return known == nullptr ? std::nullopt : std::optional(known->place);
}

std::vector<std::string> Queue::waiting() const {
  std::vector<std::string> uids;
  for (const auto& [uid, known] : items_) {
    if (known->place != Place::InFlight) {
      uids.push_back(uid);
    }
  }
  return uids;
}

} // namespace berth::sched
