// The scheduling queue (spec 1.5-1.7): active, backoff (rejected and errors), unschedulable and
// gated pods, and the log of events that happened while pods were being decided. Time is passed in;
// nothing polls: next_wakeup() is the next instant at which flush() would do something, so the
// owner arms one timer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/time.h"
#include "berth/sched/event_log.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

struct QueueOptions {
  Duration initial_backoff = Duration::seconds(1);
  Duration max_backoff = Duration::seconds(10); ///< zero: no backoff
  /// After this time a pod is tried again though nothing happened that helps it. Of pods that no
  /// event tells apart one is tried, and the others only if that one was placed.
  Duration max_in_unschedulable = Duration::minutes(5);
  Duration leftover_check = Duration::seconds(30); ///< how often kube-scheduler looks for leftovers
};

/// What moves pods other than cluster events, in kube-scheduler's words (its metric's label).
namespace queue_causes {
inline constexpr std::string_view kPodAdd = "PodAdd";
inline constexpr std::string_view kAttemptFailure = "ScheduleAttemptFailure";
inline constexpr std::string_view kBackoffComplete = "BackoffComplete";
inline constexpr std::string_view kPopFromBackoff = "PopFromBackoffQ";
inline constexpr std::string_view kForceActivate = "ForceActivate";
inline constexpr std::string_view kLongWait = "UnschedulableTimeout";
/// Not Kubernetes': decided with a sibling of its group; not counted as a move.
inline constexpr std::string_view kTakenAlong = "TakenAlong";
} // namespace queue_causes

/// What the queue asks of the plugins; Framework gives it (queue_policy), tests make their own.
struct QueuePolicy {
  std::function<bool(const QueuedPod&, const QueuedPod&)> less;
  std::function<Status(const PodInfo&)> pre_enqueue;
  std::function<Hint(std::string_view plugin, const PodInfo&, const ClusterEvent&)> hint;
  /// Could the plugin's hint say Queue for this event at all? Empty: ask hint for every pod.
  std::function<bool(std::string_view plugin, const ClusterEvent&)> interested;
  /// What is left on a node now. Empty: pods that an event's room could help are all woken at once.
  std::function<NodeRoom(NodeId)> room = {};
};
class Framework;
/// Each pod is judged by the framework that is for its spec.schedulerName, or by the first; the
/// first one sorts. There is one at least; they must outlive the policy.
QueuePolicy queue_policy(std::vector<const Framework*> frameworks);
QueuePolicy queue_policy(const Framework& framework);

/// Why an attempt did not place the pod. No plugin at all: an error, retried by backoff alone.
struct Failure {
  std::vector<std::string> unschedulable_plugins;
  std::vector<std::string> pending_plugins;
};

/// Deterministic: equal calls give equal answers; ties of QueueSort and backoff go to the lower
/// entry number. Every pod added and not removed is in exactly one of: active, backoff,
/// unschedulable, gated, in flight. The policy's order must not change for pods that wait.
class Queue {
 public:
  Queue(QueuePolicy policy, QueueOptions options);

  /// A pod to schedule appeared. A known uid is treated as update.
  void add(const PodPtr& pod, TimePoint now);
  /// The pod's object changed. In flight: the new version is used from the next attempt on.
  void update(const PodPtr& pod, TimePoint now);
  /// The pod is gone, or is nobody's to schedule any more. Unknown uids are ignored.
  void remove(std::string_view uid);

  /// Takes the best pod and puts it in flight: from active, else from backoff (rejected pods only,
  /// in order of expiry).
  std::optional<QueuedPod> pop(TimePoint now);
  /// Takes this pod wherever it waits, whatever its backoff, and puts it in flight: a group is
  /// decided with all its members. None if it is unknown, gated or in flight.
  std::optional<QueuedPod> take(std::string_view uid, TimePoint now);
  /// The attempt succeeded: events are no longer remembered for it.
  void done(std::string_view uid);
  /// The attempt failed: replays what happened meanwhile, then parks the pod where it belongs. Ends
  /// the flight. A pod that was removed meanwhile is dropped.
  void retry_later(QueuedPod pod, const Failure& failure, TimePoint now);

  /// Something happened: wakes the pods it can help and is remembered for those in flight.
  /// Pods that only the room it tells of can help are offered the room one after the other, the
  /// best first (see offer_rest): the outcome is that of waking them all, without the attempts in
  /// vain. `except`: uid not to wake. O(kinds of waiting pods + woken pods).
  void on_event(const ClusterEvent& event, TimePoint now, std::string_view except = {});
  /// Tries these pods next, whatever keeps them back (not gates). In flight: counts as an event
  /// that helps.
  void activate(std::span<const std::string> uids, TimePoint now);

  /// To be called after attempts and removals: whoever was offered room and did not take it, or
  /// not all of it, leaves the rest to the next.
  void offer_rest(TimePoint now);

  /// Moves what is due: expired backoffs (whole seconds), leftovers.
  void flush(TimePoint now);
  /// When flush next has work; none: never, until something else happens.
  std::optional<TimePoint> next_wakeup() const;

  bool can_pop() const { return !active_.empty() || !backoff_.empty(); }
  struct Depth {
    std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0;
    bool operator==(const Depth&) const = default;
  };
  Depth depth() const;
  /// How many pods came into each queue (active, backoff, unschedulable), and why: queue, cause.
  /// Gated pods count as unschedulable, as in kube-scheduler.
  using Moves = std::map<std::pair<std::string_view, std::string_view>, std::uint64_t>;
  const Moves& moves() const { return moves_; }
  /// Every pod that waits, in uid order.
  void for_each_waiting(const std::function<void(const QueuedPod&)>& visit) const;
  /// The pod, wherever it waits; null if unknown or in flight.
  const QueuedPod* find(std::string_view uid) const;
  enum class Place { Active, Backoff, ErrorBackoff, Unschedulable, Gated, InFlight };
  std::optional<Place> where(std::string_view uid) const;
  /// Uids of all waiting pods, sorted. For tests and dumps.
  std::vector<std::string> waiting() const;

 private:
  struct Item {
    QueuedPod info;
    Place place = Place::Active;
    std::uint64_t serial = 0; // of the last entry to the queue
    TimePoint due;            // Backoff, ErrorBackoff: end of backoff, on a whole second
    TimePoint parked;         // Unschedulable: since when, or since its kind was last tried
    EventLog::Flight flight = 0;
    PodPtr updated; // InFlight: the version that arrived meanwhile
    bool removed = false;
    bool activated = false;
  };
  enum class Urgency { AfterBackoff, Now };
  struct ActiveLess {
    const QueuePolicy* policy;
    bool operator()(const Item* a, const Item* b) const;
  };
  struct BackoffLess {
    ActiveLess active;
    bool operator()(const Item* a, const Item* b) const;
  };
  /// Unschedulable pods that no event tells apart: of one shape and group, rejected by the same
  /// plugins. Pods without a shape are a kind of their own (by serial).
  struct Kind {
    ShapeId shape;
    std::string group;
    std::uint64_t serial = 0;
    std::vector<std::string> unschedulable_plugins;
    std::vector<std::string> pending_plugins;
    auto operator<=>(const Kind&) const = default;
  };
  /// Room on a node that is being offered.
  struct Offer {
    ClusterEvent event; ///< with the room as it was when last asked for
    NodeId node;
    std::string except;
    std::uint64_t before = 0; ///< pods that entered since know the room
    std::string taker;        ///< uid of who is to try next
    std::uint64_t serial = 0; ///< of the taker when it was woken
  };
  /// A kind whose pods waited too long, tried through one of them.
  struct Probe {
    Kind kind;
    std::string uid;
    std::uint64_t serial = 0;
  };

  Item* item(std::string_view uid) const;
  void detach(Item& item);
  void attach(Item& item, Place place);
  void enter(Item& item, Place place, std::string_view cause);
  void wake(Item& item, Urgency urgency, TimePoint now, std::string_view cause);
  void count(Place place, std::string_view cause);
  QueuedPod launch(Item& item, TimePoint now);
  void update_parked(Item& item, const ClusterEvent& change, TimePoint now);
  struct Help {
    Urgency urgency = Urgency::AfterBackoff;
    bool by_room = false; ///< and by nothing else
  };
  std::optional<Help> helps(const Item& item, const ClusterEvent& event) const;
  struct Missed {
    Urgency urgency = Urgency::AfterBackoff;
    std::string_view cause;
  };
  std::optional<Missed> missed(const Item& item) const;
  std::vector<Item*> helped(const ClusterEvent& event, std::string_view except) const;
  bool offer_next(Offer& offer, TimePoint now);
  Item* best_taker(const Offer& offer) const;
  bool still_to_try(std::string_view uid, std::uint64_t serial) const;
  bool probe_next(Probe& probe, TimePoint now);
  static Kind kind_of(const Item& item);
  TimePoint backoff_end(const QueuedPod& pod) const;
  TimePoint leftover_due(const Item& item) const;

  std::unique_ptr<QueuePolicy> policy_; // its address is kept by the comparators
  QueueOptions options_;
  std::map<std::string, std::unique_ptr<Item>, std::less<>> items_;
  std::set<Item*, ActiveLess> active_;
  std::set<Item*, BackoffLess> backoff_;
  std::set<Item*, BackoffLess> error_backoff_;
  std::map<std::pair<TimePoint, std::uint64_t>, Item*> unschedulable_; // by parked, serial
  std::map<Kind, std::set<Item*, ActiveLess>> kinds_;                  // the same pods
  std::map<std::uint64_t, Item*> gated_;                               // by serial
  std::vector<Offer> offers_;
  std::vector<Probe> probes_;
  std::size_t in_flight_ = 0;
  EventLog log_;
  Moves moves_;
  std::uint64_t next_serial_ = 1;
};

} // namespace berth::sched
