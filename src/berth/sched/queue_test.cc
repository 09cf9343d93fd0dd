#include "berth/sched/queue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/sched/plugins/priority_sort.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using Place = Queue::Place;

TimePoint at(double seconds) {
  return TimePoint::from_unix_nanos(static_cast<std::int64_t>(seconds * 1e9));
}

/// Plugins by name: "fit" is woken by deleted pods, "label" by node labels, "gate" keeps gated pods
/// out.
QueuePolicy test_policy() {
  return {.less = &by_priority_then_time,
          .pre_enqueue =
              [](const PodInfo& p) {
                Status status;
                if (!p.pod->spec.scheduling_gates.empty()) {
                  status = Status::of(StatusCode::Unresolvable, "gated");
                  status.plugin = "gate";
                }
                return status;
              },
          .hint =
              [](std::string_view plugin, const PodInfo& p, const ClusterEvent& event) {
                const bool wakes =
                    (plugin == "fit" && event.resource == EventResource::AssignedPod &&
                     (event.action & actions::kDelete) != 0) ||
                    (plugin == "label" && event.resource == EventResource::Node) ||
                    (plugin == "gate" && event.resource == EventResource::UnscheduledPod &&
                     event.new_pod->uid == p.uid);
                return wakes ? Hint::Queue : Hint::Skip;
              },
          .interested = {}};
}

class QueueTest : public testing::Test {
 protected:
  PodPtr describe(const PodBuilder& builder) { return state.describe(builder.build()); }
  void add(const PodBuilder& builder, TimePoint now = at(0)) { queue.add(describe(builder), now); }
  std::string pop(TimePoint now = at(0)) {
    const auto popped = queue.pop(now);
    if (popped) {
      last = *popped;
    }
    return popped ? popped->pod->name() : "";
  }
  void reject(TimePoint now, std::vector<std::string> plugins = {"fit"}) {
    queue.retry_later(last, {.unschedulable_plugins = std::move(plugins), .pending_plugins = {}},
                      now);
  }
  void fail_with_error(TimePoint now) { queue.retry_later(last, {}, now); }
  ClusterEvent deletion() { return assigned_pod_deleted(describe(pod("gone"))); }
  std::optional<Place> where(std::string_view name) {
    return queue.where("default/" + std::string(name));
  }

  ClusterState state;
  Queue queue{test_policy(), {}};
  QueuedPod last;
};

TEST_F(QueueTest, PopsByPriorityThenByEntry) {
  add(pod("late"), at(2));
  add(pod("high").priority(5), at(3));
  add(pod("early"), at(1));
  add(pod("early-too"), at(1));
  EXPECT_EQ(pop(), "high");
  EXPECT_EQ(pop(), "early");
  EXPECT_EQ(pop(), "early-too");
  EXPECT_EQ(pop(), "late");
  EXPECT_EQ(pop(), "");
  EXPECT_EQ(queue.depth(), (Queue::Depth{.in_flight = 4}));
}

TEST_F(QueueTest, ARejectedPodSleepsUntilSomethingHelps) {
  add(pod("p"));
  pop();
  reject(at(0));
  EXPECT_EQ(where("p"), Place::Unschedulable);
  queue.on_event(node_added(node("n").build()), at(5));
  EXPECT_EQ(where("p"), Place::Unschedulable) << "fit does not care for this event";
  queue.on_event(deletion(), at(5));
  EXPECT_EQ(where("p"), Place::Active);
}

TEST_F(QueueTest, AnyRejectingPluginMayWakeThePod) {
  add(pod("p"));
  pop();
  reject(at(0), {"fit", "label"});
  queue.on_event(node_added(node("n").build()), at(5));
  EXPECT_EQ(where("p"), Place::Active);
}

TEST_F(QueueTest, BackoffDoublesUpToTheMaximum) {
  add(pod("p"));
  TimePoint now = at(0);
  for (const int wait : {1, 2, 4, 8, 10, 10}) {
    pop(now);
    reject(now);
    queue.on_event(deletion(), now);
    ASSERT_EQ(where("p"), Place::Backoff);
    EXPECT_EQ(queue.next_wakeup(), now + Duration::seconds(wait));
    queue.flush(now + Duration::seconds(wait) - Duration::nanos(1));
    ASSERT_EQ(where("p"), Place::Backoff);
    now = now + Duration::seconds(wait);
    queue.flush(now);
    ASSERT_EQ(where("p"), Place::Active);
  }
}

TEST_F(QueueTest, BackoffEndsOnWholeSeconds) {
  add(pod("p"), at(0.3));
  pop(at(0.3));
  reject(at(0.4));
  queue.on_event(deletion(), at(0.5));
  EXPECT_EQ(queue.next_wakeup(), at(2)) << "0.4 + 1, at the next whole second";
}

TEST_F(QueueTest, PopTakesFromBackoffWhenNothingElseWaits) {
  add(pod("p"));
  pop();
  reject(at(0));
  queue.on_event(deletion(), at(0));
  EXPECT_TRUE(queue.can_pop());
  add(pod("q"), at(0.1));
  EXPECT_EQ(pop(at(0.1)), "q");
  EXPECT_EQ(pop(at(0.1)), "p");
}

TEST_F(QueueTest, ErrorsAreRetriedByBackoffAlone) {
  add(pod("p"));
  pop();
  fail_with_error(at(0));
  EXPECT_EQ(where("p"), Place::ErrorBackoff);
  EXPECT_FALSE(queue.can_pop()) << "error backoff is not popped early";
  EXPECT_EQ(queue.next_wakeup(), at(1));
  queue.flush(at(1));
  EXPECT_EQ(pop(at(1)), "p");
  fail_with_error(at(1));
  EXPECT_EQ(queue.next_wakeup(), at(3)) << "consecutive errors double";
  queue.flush(at(3));
  pop(at(3));
  reject(at(3));
  EXPECT_EQ(queue.find("default/p")->consecutive_errors, 0);
}

TEST_F(QueueTest, NoBackoffWhenTheMaximumIsZero) {
  Queue eager(test_policy(), {.max_backoff = Duration()});
  eager.add(describe(pod("p")), at(0));
  auto popped = *eager.pop(at(0));
  eager.retry_later(popped, {.unschedulable_plugins = {"fit"}, .pending_plugins = {}}, at(0));
  eager.on_event(deletion(), at(0));
  EXPECT_EQ(eager.where("default/p"), Place::Active);
}

TEST_F(QueueTest, PendingPluginsBypassBackoff) {
  add(pod("p"));
  pop();
  queue.retry_later(last, {.unschedulable_plugins = {"label"}, .pending_plugins = {"fit"}}, at(0));
  queue.on_event(deletion(), at(0));
  EXPECT_EQ(where("p"), Place::Active);
}

TEST_F(QueueTest, EventsInFlightAreReplayed) {
  add(pod("p"));
  pop();
  queue.on_event(deletion(), at(0));
  reject(at(0));
  EXPECT_EQ(where("p"), Place::Backoff) << "the deletion is not lost";
  add(pod("q"));
  EXPECT_EQ(pop(), "q");
  reject(at(0));
  EXPECT_EQ(where("q"), Place::Unschedulable) << "events before its flight do not count";
}

TEST_F(QueueTest, EventsAreForgottenOnceNobodyIsInFlight) {
  add(pod("p"));
  add(pod("q"));
  pop();
  const QueuedPod p = last;
  pop();
  queue.on_event(deletion(), at(0));
  queue.done("default/q");
  queue.retry_later(p, {.unschedulable_plugins = {"label"}, .pending_plugins = {}}, at(0));
  EXPECT_EQ(where("p"), Place::Unschedulable);
  EXPECT_EQ(queue.depth(), (Queue::Depth{.unschedulable = 1}));
}

TEST_F(QueueTest, AnEventMayExceptAPod) {
  add(pod("p"));
  pop();
  queue.on_event(deletion(), at(0), "default/p");
  reject(at(0));
  EXPECT_EQ(where("p"), Place::Unschedulable) << "in flight";
  queue.on_event(deletion(), at(9), "default/p");
  EXPECT_EQ(where("p"), Place::Unschedulable) << "parked";
}

TEST_F(QueueTest, DoneForgetsThePod) {
  add(pod("p"));
  pop();
  queue.done("default/p");
  EXPECT_FALSE(where("p"));
  queue.retry_later(last, {}, at(0));
  EXPECT_EQ(where("p"), Place::ErrorBackoff) << "a bind that failed after done";
}

TEST_F(QueueTest, RemovedPodsAreDroppedWhereverTheyAre) {
  for (const char* name : {"flying", "parked", "active"}) {
    add(pod(name));
    if (std::string_view(name) != "active") {
      pop();
    }
    if (std::string_view(name) == "parked") {
      reject(at(0));
    } else if (std::string_view(name) == "flying") {
      queue.remove("default/flying");
      reject(at(0));
      EXPECT_FALSE(where("flying"));
    }
  }
  queue.remove("default/parked");
  queue.remove("default/active");
  queue.remove("default/unknown");
  EXPECT_EQ(queue.depth(), Queue::Depth());
  EXPECT_THAT(queue.waiting(), IsEmpty());
}

TEST_F(QueueTest, LeftoversAreTriedAgainAfterFiveMinutes) {
  add(pod("p"), at(7));
  pop(at(7));
  reject(at(7));
  EXPECT_EQ(queue.next_wakeup(), at(330)) << "older than 300 s at the check after 307 s";
  queue.flush(at(329));
  EXPECT_EQ(where("p"), Place::Unschedulable);
  queue.flush(at(330));
  EXPECT_EQ(where("p"), Place::Active);
  EXPECT_FALSE(queue.next_wakeup());
}

TEST_F(QueueTest, QuietQueuesNeedNoTimer) {
  EXPECT_FALSE(queue.next_wakeup());
  add(pod("p"));
  EXPECT_FALSE(queue.next_wakeup());
  Queue patient(test_policy(), {.max_in_unschedulable = Duration::max()});
  patient.add(describe(pod("p")), at(0));
  patient.retry_later(*patient.pop(at(0)),
                      {.unschedulable_plugins = {"fit"}, .pending_plugins = {}}, at(0));
  EXPECT_FALSE(patient.next_wakeup());
}

// ---- gates, updates, activation
// -------------------------------------------------------------------------

TEST_F(QueueTest, GatedPodsWaitForTheirGates) {
  add(pod("p").gate("a"));
  EXPECT_EQ(where("p"), Place::Gated);
  EXPECT_FALSE(queue.can_pop());
  queue.on_event(deletion(), at(1));
  EXPECT_EQ(where("p"), Place::Gated);
  queue.update(describe(pod("p").gate("a").label("x", "y")), at(2));
  EXPECT_EQ(where("p"), Place::Gated);
  queue.update(describe(pod("p").label("x", "y")), at(3));
  EXPECT_EQ(where("p"), Place::Active);
  EXPECT_FALSE(queue.next_wakeup());
}

TEST_F(QueueTest, AChangedPodIsTriedAgain) {
  add(pod("p").cpu("8"));
  pop();
  reject(at(0));
  queue.update(describe(pod("p").cpu("8").phase("Pending")), at(9));
  EXPECT_EQ(where("p"), Place::Unschedulable) << "status alone changes nothing";
  queue.update(describe(pod("p").cpu("8").node_selector("a", "b")), at(9));
  EXPECT_EQ(where("p"), Place::Active);
}

TEST_F(QueueTest, AChangeInFlightIsUsedNextTime) {
  add(pod("p").cpu("8"));
  pop();
  queue.update(describe(pod("p").cpu("8").annotation("a", "b")), at(0));
  reject(at(0));
  EXPECT_EQ(where("p"), Place::Backoff) << "the change itself is an event";
  pop();
  EXPECT_EQ(last.pod->pod->meta.annotations.count("a"), 1U);
}

TEST_F(QueueTest, AnUpdateMayReorderActivePods) {
  add(pod("a"), at(0));
  add(pod("b"), at(1));
  queue.update(describe(pod("b").priority(9)), at(2));
  EXPECT_EQ(pop(), "b");
}

TEST_F(QueueTest, AddOfAKnownPodIsAnUpdate) {
  add(pod("a"), at(0));
  add(pod("a").priority(3), at(1));
  EXPECT_EQ(queue.depth().active, 1U);
  EXPECT_EQ(queue.find("default/a")->pod->priority, 3);
}

TEST_F(QueueTest, ActivateIgnoresBackoffButNotGates) {
  add(pod("p"));
  pop();
  reject(at(0));
  add(pod("g").gate("x"));
  const std::vector<std::string> uids = {"default/p", "default/g", "default/unknown"};
  queue.activate(uids, at(0));
  EXPECT_EQ(where("p"), Place::Active);
  EXPECT_EQ(where("g"), Place::Gated);
}

TEST_F(QueueTest, ActivateInFlightBringsThePodBackAtOnce) {
  add(pod("p"));
  pop();
  queue.activate(std::vector<std::string>{"default/p"}, at(0));
  reject(at(0));
  EXPECT_EQ(where("p"), Place::Active);
  pop();
  reject(at(0));
  EXPECT_EQ(where("p"), Place::Unschedulable) << "once";
}

TEST_F(QueueTest, TakeFindsAPodWhereverItWaits) {
  add(pod("p"));
  pop();
  reject(at(0));
  add(pod("g").gate("x"));
  EXPECT_TRUE(queue.take("default/p", at(0)));
  EXPECT_EQ(where("p"), Place::InFlight);
  EXPECT_FALSE(queue.take("default/p", at(0))) << "in flight";
  EXPECT_FALSE(queue.take("default/g", at(0))) << "gated";
  EXPECT_FALSE(queue.take("default/x", at(0))) << "unknown";
}

TEST_F(QueueTest, RetriedPodsGoBehindNewcomers) {
  add(pod("old"), at(0));
  pop(at(0));
  add(pod("new"), at(1));
  queue.on_event(deletion(), at(1));
  reject(at(2));
  queue.flush(at(3));
  EXPECT_EQ(pop(at(3)), "new");
  EXPECT_EQ(pop(at(3)), "old");
}

TEST_F(QueueTest, CountsAttempts) {
  add(pod("p"), at(1));
  pop(at(2));
  EXPECT_EQ(last.attempts, 1);
  EXPECT_EQ(last.initial_attempt, at(2));
  reject(at(3));
  queue.on_event(deletion(), at(9));
  pop(at(9));
  EXPECT_EQ(last.attempts, 2);
  EXPECT_EQ(last.initial_attempt, at(2));
  EXPECT_EQ(last.unschedulable_count, 1);
}

/// Any history: each pod is in exactly one place, and the timer is armed for whatever is due.
TEST_F(QueueTest, NoPodIsEverLost) {
  Rng rng(5);
  std::set<std::string> alive;
  std::vector<QueuedPod> flying;
  std::int64_t now_ms = 0;
  const auto now = [&] { return TimePoint::from_unix_nanos(now_ms * 1'000'000); };
  for (int step = 0; step < 5000; ++step) {
    now_ms += static_cast<std::int64_t>(rng.below(700));
    const std::string name = fmt::format("p{}", rng.below(20));
    switch (rng.below(8)) {
    case 0:
    case 1: {
      auto builder = pod(name).priority(static_cast<std::int64_t>(rng.below(3)));
      if (rng.chance(1, 5)) {
        builder.gate("g");
      }
      queue.add(describe(builder), now());
      alive.insert("default/" + name);
      break;
    }
    case 2:
      queue.remove("default/" + name);
      alive.erase("default/" + name);
      break;
    case 3:
      if (auto popped = queue.pop(now())) {
        flying.push_back(*popped);
      }
      break;
    case 4:
      if (!flying.empty()) {
        const auto pick = static_cast<std::ptrdiff_t>(rng.below(flying.size()));
        const QueuedPod back = flying[static_cast<std::size_t>(pick)];
        flying.erase(flying.begin() + pick);
        if (rng.chance(1, 3)) {
          queue.done(back.pod->uid);
          alive.erase(back.pod->uid);
        } else if (rng.chance(1, 4)) {
          queue.retry_later(back, {}, now());
        } else {
          queue.retry_later(back, {.unschedulable_plugins = {rng.chance(1, 2) ? "fit" : "label"}},
                            now());
        }
      }
      break;
    case 5:
      queue.on_event(deletion(), now());
      break;
    case 6:
      queue.activate(std::vector<std::string>{"default/" + name}, now());
      break;
    default:
      queue.flush(now());
      break;
    }
    std::set<std::string> known;
    for (const auto& uid : queue.waiting()) {
      known.insert(uid);
    }
    for (const auto& pod_in_flight : flying) {
      if (alive.contains(pod_in_flight.pod->uid)) {
        known.insert(pod_in_flight.pod->uid);
      }
    }
    ASSERT_EQ(known, alive) << "step " << step;
    const auto depth = queue.depth();
    ASSERT_EQ(depth.in_flight, flying.size());
    ASSERT_EQ(depth.active + depth.backoff + depth.unschedulable + depth.gated,
              queue.waiting().size());
    ASSERT_EQ(queue.next_wakeup().has_value(), depth.backoff + depth.unschedulable > 0)
        << "step " << step;
  }
}

} // namespace
} // namespace berth::sched
