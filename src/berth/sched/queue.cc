#include "berth/sched/queue.h"

#include <algorithm>

#include "berth/base/assert.h"
#include "berth/sched/extender.h"
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
  return queue_policy(std::vector{&framework});
}

QueuePolicy queue_policy(std::vector<const Framework*> frameworks) {
  const Framework* first = frameworks.front();
  const auto of = [frameworks](const PodInfo& pod) {
    const auto it = std::ranges::find_if(frameworks, [&](const Framework* framework) {
      return framework->is_for(pod.pod->spec.scheduler_name);
    });
    return it == frameworks.end() ? frameworks.front() : *it;
  };
  return {.less = [first](const QueuedPod& a,
                          const QueuedPod& b) { return first->queue_sort().less(a, b); },
          .pre_enqueue = [of](const PodInfo& pod) { return of(pod)->pre_enqueue(pod); },
          .hint =
              [of](std::string_view plugin, const PodInfo& pod, const ClusterEvent& event) {
                return plugin == kExtenderPlugin ? Hint::Queue : of(pod)->hint(plugin, pod, event);
              },
          .interested =
              [frameworks](std::string_view plugin, const ClusterEvent& event) {
                bool known = false;
                for (const Framework* framework : frameworks) {
                  if (framework->find(plugin) != nullptr) {
                    known = true;
                    if (framework->interested(plugin, event)) {
                      return true;
                    }
                  }
                }
                return !known || event.resource == EventResource::Wildcard;
              },
          .room = {}};
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

Queue::Kind Queue::kind_of(const Item& item) {
  const ShapeId shape = item.info.pod->shape;
  return {.shape = shape,
          .group = std::string(item.info.pod->pod->pod_group()),
          .serial = shape.valid() ? 0 : item.serial,
          .unschedulable_plugins = item.info.unschedulable_plugins,
          .pending_plugins = item.info.pending_plugins};
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
  case Place::Unschedulable: {
    unschedulable_.erase({item.parked, item.serial});
    const auto kind = kinds_.find(kind_of(item));
    kind->second.erase(&item);
    if (kind->second.empty()) {
      kinds_.erase(kind);
    }
    return;
  }
  case Place::Gated:
    gated_.erase(item.serial);
    return;
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
    item.parked = item.info.timestamp;
    unschedulable_.emplace(std::pair(item.parked, item.serial), &item);
    kinds_.try_emplace(kind_of(item), ActiveLess{policy_.get()}).first->second.insert(&item);
    return;
  case Place::Gated:
    gated_.emplace(item.serial, &item);
    return;
  }
}

/// Counts a pod that came to `place`.
void Queue::count(Place place, std::string_view cause) {
  switch (place) {
  case Place::Active:
    ++moves_[{"active", cause}];
    return;
  case Place::Backoff:
  case Place::ErrorBackoff:
    ++moves_[{"backoff", cause}];
    return;
  case Place::Unschedulable:
  case Place::Gated:
    ++moves_[{"unschedulable", cause}];
    return;
  case Place::InFlight:
    return;
  }
}

/// Into the active queue or a backoff, unless PreEnqueue vetoes. Precondition: detached.
void Queue::enter(Item& item, Place place, std::string_view cause) {
  item.info.woken_by = cause;
  if (const Status status = policy_->pre_enqueue(*item.info.pod); !status.ok()) {
    item.info.gating_plugin = status.plugin;
    attach(item, Place::Gated);
    count(Place::Gated, cause);
    return;
  }
  item.info.gating_plugin.clear();
  attach(item, place);
  count(place, cause);
}

/// Precondition: detached.
void Queue::wake(Item& item, Urgency urgency, TimePoint now, std::string_view cause) {
  const TimePoint end = backoff_end(item.info);
  if (urgency == Urgency::Now || end <= now) {
    enter(item, Place::Active, cause);
    return;
  }
  item.due = round_up(end, Duration::seconds(1));
  enter(item, item.info.consecutive_errors > 0 ? Place::ErrorBackoff : Place::Backoff, cause);
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
TimePoint Queue::leftover_due(const Item& item) const {
  return round_up(item.parked + options_.max_in_unschedulable + Duration::nanos(1),
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
  enter(added, Place::Active, queue_causes::kPodAdd);
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
    enter(item, Place::Active, change.label);
    return;
  }
  const auto help = change.action == 0 ? std::nullopt : helps(item, change);
  if (help) {
    wake(item, help->urgency, now, change.label);
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
    count(Place::Active, queue_causes::kPopFromBackoff);
    return launch(**backoff_.begin(), now);
  }
  return std::nullopt;
}

std::optional<QueuedPod> Queue::take(std::string_view uid, TimePoint now) {
  Item* known = item(uid);
  if (known == nullptr || known->place == Place::Gated || known->place == Place::InFlight) {
    return std::nullopt;
  }
  if (known->place == Place::Unschedulable) {
    known->info.woken_by = queue_causes::kTakenAlong;
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
  known->info.leftover = false;
  known->info.unschedulable_plugins = failure.unschedulable_plugins;
  known->info.pending_plugins = failure.pending_plugins;
  if (failure.unschedulable_plugins.empty() && failure.pending_plugins.empty()) {
    ++known->info.consecutive_errors;
    detach(*known);
    wake(*known, Urgency::AfterBackoff, now, queue_causes::kAttemptFailure);
    return;
  }
  known->info.consecutive_errors = 0;
  ++known->info.unschedulable_count;
  const auto missed_event =
      known->activated ? Missed{Urgency::Now, queue_causes::kForceActivate} : missed(*known);
  detach(*known);
  if (missed_event) {
    wake(*known, missed_event->urgency, now, queue_causes::kAttemptFailure);
    known->info.woken_by = missed_event->cause;
  } else {
    attach(*known, Place::Unschedulable);
    count(Place::Unschedulable, queue_causes::kAttemptFailure);
  }
}

/// What the pod's flight missed that helps it.
std::optional<Queue::Missed> Queue::missed(const Item& item) const {
  std::optional<Missed> best;
  log_.replay(item.flight, [&](const EventLog::Entry& entry) {
    if (entry.except != item.info.pod->uid) {
      const auto help = helps(item, entry.event);
      if (help && (!best || help->urgency == Urgency::Now)) {
        best = Missed{.urgency = help->urgency, .cause = entry.event.label};
      }
    }
    return !best || best->urgency != Urgency::Now;
  });
  return best;
}

// ---- events
// -----------------------------------------------------------------------------------------

/// Should the event wake the pod? A pending plugin's yes bypasses backoff.
std::optional<Queue::Help> Queue::helps(const Item& item, const ClusterEvent& event) const {
  const PodInfo& pod = *item.info.pod;
  const bool own = event.new_pod && event.new_pod->uid == pod.uid;
  if (event.resource == EventResource::Wildcard ||
      (own && (event.action & actions::kUpdate) != 0)) {
    return Help{};
  }
  std::optional<Help> best;
  const auto ask = [&](const std::vector<std::string>& plugins, Urgency urgency) {
    for (const std::string& plugin : plugins) {
      const Hint hint = policy_->hint(plugin, pod, event);
      if (hint == Hint::Queue) {
        best = Help{.urgency = best ? best->urgency : urgency, .by_room = false};
        return;
      }
      if (hint == Hint::Room && !best) {
        best = Help{.urgency = urgency, .by_room = true};
      }
    }
  };
  ask(item.info.pending_plugins, Urgency::Now);
  if (!best || best->by_room) {
    ask(item.info.unschedulable_plugins, Urgency::AfterBackoff);
  }
  return best;
}

/// Parked pods that the event helps by more than its room; gated ones whose gate it may lift.
std::vector<Queue::Item*> Queue::helped(const ClusterEvent& event, std::string_view except) const {
  std::vector<std::pair<std::string_view, bool>> known;
  const auto interested = [&](const std::string& plugin) {
    if (!policy_->interested) {
      return true;
    }
    const auto it = std::ranges::find(known, std::string_view(plugin),
                                      &std::pair<std::string_view, bool>::first);
    return it != known.end()
               ? it->second
               : known.emplace_back(plugin, policy_->interested(plugin, event)).second;
  };
  // Only a waiting pod's own change is about one pod and not about its kind.
  const bool about_one = event.resource == EventResource::UnscheduledPod;
  std::vector<Item*> items;
  for (const auto& [kind, pods] : kinds_) {
    if (!std::ranges::any_of(kind.unschedulable_plugins, interested) &&
        !std::ranges::any_of(kind.pending_plugins, interested)) {
      continue;
    }
    std::optional<Help> help;
    for (Item* item : pods) {
      if (about_one || item == *pods.begin()) {
        help = helps(*item, event);
      }
      const bool wakes = help && !(help->by_room && policy_->room);
      if (wakes && item->info.pod->uid != except) {
        items.push_back(item);
      }
      if (!wakes && !about_one) {
        break;
      }
    }
  }
  for (const auto& [serial, item] : gated_) {
    if (interested(item->info.gating_plugin) && item->info.pod->uid != except &&
        policy_->hint(item->info.gating_plugin, *item->info.pod, event) == Hint::Queue) {
      items.push_back(item);
    }
  }
  return items;
}

void Queue::on_event(const ClusterEvent& event, TimePoint now, std::string_view except) {
  log_.record(event, except);
  for (Item* item : helped(event, except)) {
    const bool gated = item->place == Place::Gated;
    const auto help = gated ? std::optional(Help{}) : helps(*item, event);
    detach(*item);
    if (gated) {
      enter(*item, Place::Active, event.label);
    } else {
      wake(*item, help->urgency, now, event.label);
    }
  }
  if (event.room && policy_->room) {
    std::erase_if(offers_, [&](const Offer& older) {
      return older.node == event.room->node && older.except == except;
    });
    offers_.push_back({.event = event,
                       .node = event.room->node,
                       .except = std::string(except),
                       .before = next_serial_,
                       .taker = {},
                       .serial = 0});
    if (!offer_next(offers_.back(), now)) {
      offers_.pop_back();
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
      wake(*known, Urgency::Now, now, queue_causes::kForceActivate);
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
      count(Place::Active, queue_causes::kBackoffComplete);
    }
  }
  while (options_.max_in_unschedulable != Duration::max() && !unschedulable_.empty() &&
         leftover_due(*unschedulable_.begin()->second) <= now) {
    const auto kind = kinds_.find(kind_of(*unschedulable_.begin()->second));
    for (Item* item : kind->second) {
      unschedulable_.erase({item->parked, item->serial});
      item->parked = now;
      unschedulable_.emplace(std::pair(item->parked, item->serial), item);
    }
    probes_.push_back({.kind = kind->first, .uid = {}, .serial = 0});
    if (!probe_next(probes_.back(), now)) {
      probes_.pop_back();
    }
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
    consider(leftover_due(*unschedulable_.begin()->second));
  }
  return next;
}

} // namespace berth::sched
