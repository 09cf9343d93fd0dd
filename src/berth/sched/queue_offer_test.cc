// Room offered to one waiting pod after the other: the outcome is that of waking everybody, with
// fewer attempts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/sched/queue.h"
#include "berth/testing/scheduling_world.h"
#include "berth/testing/seeds.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::PodBuilder;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// A world with its queue. Order: priority, then name, whatever happened before; no backoff, so
/// that attempts in vain do not change who comes next.
class Line {
 public:
  enum class Wakes { Everybody, OneByOne };

  explicit Line(Wakes wakes) : queue_(policy(wakes), {.max_backoff = Duration()}) {}

  void set_node(const test::NodeBuilder& builder) { world_.with(builder); }

  void submit(const PodBuilder& builder) {
    queue_.add(world_.describe(builder), now_);
    drain();
  }

  /// The pod goes; nobody is tried yet.
  void let_go(const std::string& name) {
    const PlacedPod gone = *world_.state().find_pod("default/" + name);
    world_.state().remove_pod("default/" + name);
    queue_.on_event(assigned_pod_deleted(gone.pod, gone.node, world_.state()), now_);
  }
  void leave(const std::string& name) {
    let_go(name);
    drain();
  }

  /// Time passes and leftovers are tried.
  void wait(Duration time) {
    now_ = now_ + time;
    queue_.flush(now_);
    drain();
  }

  void drain() {
    while (step()) {
    }
  }

  /// One attempt; false if nobody is to be tried.
  bool step() {
    queue_.offer_rest(now_);
    auto queued = queue_.pop(now_);
    if (!queued) {
      return false;
    }
    attempts_.push_back(queued->pod->name());
    const Decision decision = schedule_one(world_.framework(), world_.state(), queued->pod,
                                           {.post_filter = PostFilters::Skip});
    if (decision.placed()) {
      queue_.done(queued->pod->uid);
    } else {
      queue_.retry_later(*queued, {.unschedulable_plugins = decision.unschedulable_plugins}, now_);
    }
    return true;
  }

  /// Pod to node.
  std::map<std::string, std::string> placed() {
    std::map<std::string, std::string> result;
    for (const PlacedPod* placed : world_.state().placed_pods()) {
      result.emplace(placed->pod->name(), world_.state().node_name(placed->node));
    }
    return result;
  }

  /// Names of the pods tried since the last call.
  std::vector<std::string> attempts() { return std::exchange(attempts_, {}); }
  Queue& queue() { return queue_; }

 private:
  QueuePolicy policy(Wakes wakes) {
    QueuePolicy policy = queue_policy(world_.framework());
    policy.less = [](const QueuedPod& a, const QueuedPod& b) {
      return std::pair(-a.pod->priority, a.pod->name()) <
             std::pair(-b.pod->priority, b.pod->name());
    };
    if (wakes == Wakes::OneByOne) {
      policy.room = [this](NodeId id) { return room_on(world_.state(), id); };
    }
    return policy;
  }

  test::SchedulingWorld world_;
  Queue queue_;
  TimePoint now_;
  std::vector<std::string> attempts_;
};

TEST(Offer, GoesToTheBestPodThatFits) {
  Line line(Line::Wakes::OneByOne);
  line.set_node(node("n").gpus(8));
  line.submit(pod("holder").gpus(4));
  line.submit(pod("other").gpus(4));
  line.submit(pod("big").gpus(8).priority(9));
  line.submit(pod("a").gpus(4));
  line.submit(pod("b").gpus(4));
  line.attempts();
  line.leave("holder");
  EXPECT_THAT(line.attempts(), ElementsAre("big", "a"))
      << "big might preempt; b is not tried, since a took the room";
  EXPECT_THAT(line.placed(),
              UnorderedElementsAre(testing::Pair("other", "n"), testing::Pair("a", "n")));
}

TEST(Offer, WhatIsLeftGoesToTheNext) {
  Line line(Line::Wakes::OneByOne);
  line.set_node(node("n").gpus(8));
  line.submit(pod("holder").gpus(8));
  line.submit(pod("a").gpus(4));
  line.submit(pod("b").gpus(8));
  line.submit(pod("c").gpus(4));
  line.submit(pod("d").gpus(4));
  line.attempts();
  line.leave("holder");
  EXPECT_THAT(line.attempts(), ElementsAre("a", "c"));
}

TEST(Offer, PassesOnWhenTheTakerFailsForAnotherReason) {
  Line line(Line::Wakes::OneByOne);
  line.set_node(node("n").gpus(8).taint("team", "NoSchedule", "x"));
  line.set_node(node("m").gpus(8));
  const auto tolerant = [](std::string_view name) {
    return pod(name).gpus(8).tolerates_everything();
  };
  line.submit(tolerant("holder").node_selector("kubernetes.io/hostname", "n"));
  line.submit(tolerant("second"));
  line.submit(pod("a").gpus(8));
  line.submit(tolerant("b"));
  line.attempts();
  line.leave("holder");
  EXPECT_THAT(line.attempts(), ElementsAre("a", "b")) << "a does not tolerate the taint of n";
  EXPECT_EQ(line.placed().at("b"), "n");
}

TEST(Offer, PassesOnWhenTheTakerIsRemoved) {
  Line line(Line::Wakes::OneByOne);
  line.set_node(node("n").gpus(8));
  line.submit(pod("holder").gpus(8));
  line.submit(pod("a").gpus(8));
  line.submit(pod("b").gpus(8));
  line.attempts();
  line.let_go("holder");
  ASSERT_EQ(line.queue().where("default/a"), Queue::Place::Active) << "the room is a's to try";
  ASSERT_EQ(line.queue().where("default/b"), Queue::Place::Unschedulable);
  line.queue().remove("default/a");
  line.drain();
  EXPECT_THAT(line.attempts(), ElementsAre("b"));
  EXPECT_EQ(line.placed().at("b"), "n");
}

TEST(Leftovers, OneOfAKindIsTriedForAll) {
  Line line(Line::Wakes::OneByOne);
  line.set_node(node("n").gpus(8));
  line.submit(pod("holder").gpus(8));
  for (int i = 0; i < 5; ++i) {
    line.submit(pod(fmt::format("small-{}", i)).gpus(1));
    line.submit(pod(fmt::format("large-{}", i)).gpus(8));
  }
  line.attempts();
  line.wait(Duration::minutes(6));
  EXPECT_THAT(line.attempts(), ElementsAre("large-0", "small-0"));
  line.wait(Duration::minutes(1));
  EXPECT_THAT(line.attempts(), ElementsAre());
  line.wait(Duration::minutes(5));
  EXPECT_THAT(line.attempts(), ElementsAre("large-0", "small-0"));
}

TEST(Leftovers, AMissedEventIsMadeGoodForAllOfTheKind) {
  Line line(Line::Wakes::OneByOne);
  line.set_node(node("n").gpus(2));
  line.submit(pod("holder").gpus(2));
  for (int i = 0; i < 4; ++i) {
    line.submit(pod(fmt::format("small-{}", i)).gpus(1));
  }
  line.set_node(node("m").gpus(3)); // nobody tells the queue
  line.attempts();
  line.wait(Duration::minutes(6));
  EXPECT_THAT(line.attempts(), ElementsAre("small-0", "small-1", "small-2", "small-3"));
  EXPECT_EQ(line.placed().size(), 4U);
}

class OneByOne : public testing::TestWithParam<std::uint64_t> {};

TEST_P(OneByOne, EndsAsWakingEverybodyDoes) {
  Rng rng(GetParam());
  Line everybody(Line::Wakes::Everybody);
  Line one_by_one(Line::Wakes::OneByOne);
  const auto both = [&](const auto& act) {
    act(everybody);
    act(one_by_one);
  };
  for (int i = 0; i < 4; ++i) {
    auto builder = node(fmt::format("n{}", i)).cpu("32").memory("256Gi").gpus(8).pods(6);
    if (rng.chance(1, 3)) {
      builder.taint("team", "NoSchedule", "x");
    }
    both([&](Line& line) { line.set_node(builder); });
  }
  std::size_t tried_by_all = 0;
  std::size_t tried_one_by_one = 0;
  for (int step = 0; step < 200; ++step) {
    const auto placed = everybody.placed();
    if (!placed.empty() && rng.chance(1, 2)) {
      auto gone = placed.begin();
      std::advance(gone, static_cast<std::ptrdiff_t>(rng.below(placed.size())));
      both([&](Line& line) { line.leave(gone->first); });
    } else {
      constexpr int kSizes[] = {1, 1, 2, 4, 8};
      auto builder =
          pod(fmt::format("p{:03}", rng.below(1000) * 1000 + static_cast<unsigned>(step)))
              .gpus(kSizes[rng.below(5)])
              .cpu(fmt::to_string(1 + rng.below(8)))
              .priority(static_cast<std::int64_t>(rng.below(3)));
      if (rng.chance(1, 4)) {
        builder.tolerates_everything();
      }
      if (rng.chance(1, 10)) {
        builder.host_port(8080);
      }
      both([&](Line& line) { line.submit(builder); });
    }
    ASSERT_EQ(one_by_one.placed(), everybody.placed()) << "step " << step;
    tried_by_all += everybody.attempts().size();
    tried_one_by_one += one_by_one.attempts().size();
  }
  EXPECT_LE(tried_one_by_one, tried_by_all);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OneByOne, test::seeds(30));

} // namespace
} // namespace berth::sched
