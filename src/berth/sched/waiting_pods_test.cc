#include "berth/sched/waiting_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::sched {
namespace {

using test::pod;

class Waiting : public testing::Test {
 protected:
  void add(std::string_view name, std::map<std::string, Duration> waits,
           TimePoint now = TimePoint()) {
    Decision decision;
    decision.outcome = Outcome::Waiting;
    decision.waits = std::move(waits);
    QueuedPod queued;
    queued.pod = state.describe(pod(name).build());
    waiting.add(std::move(queued), std::move(decision), now);
  }
  ClusterState state;
  WaitingPods waiting;
};

TEST_F(Waiting, EveryPluginMustAllow) {
  add("p", {{"A", Duration::seconds(5)}, {"B", Duration::seconds(9)}});
  EXPECT_FALSE(waiting.allow("default/p", "B"));
  EXPECT_FALSE(waiting.allow("default/p", "Other"));
  const auto allowed = waiting.allow("default/p", "A");
  ASSERT_TRUE(allowed);
  EXPECT_EQ(allowed->queued.pod->name(), "p");
  EXPECT_EQ(waiting.size(), 0U);
  EXPECT_FALSE(waiting.allow("default/p", "A"));
}

TEST_F(Waiting, TheShortestPatienceDecides) {
  add("p", {{"A", Duration::seconds(5)}, {"B", Duration::seconds(3)}},
      TimePoint::from_unix_seconds(100));
  add("q", {{"A", Duration::seconds(9)}}, TimePoint::from_unix_seconds(100));
  EXPECT_EQ(waiting.next_deadline(), TimePoint::from_unix_seconds(103));
  EXPECT_TRUE(waiting.expire(TimePoint::from_unix_seconds(102)).empty());
  const auto expired = waiting.expire(TimePoint::from_unix_seconds(103));
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired[0].pod.queued.pod->name(), "p");
  EXPECT_EQ(expired[0].plugin, "B");
  EXPECT_EQ(waiting.next_deadline(), TimePoint::from_unix_seconds(109));
}

TEST_F(Waiting, AnAllowedPluginsPatienceNoLongerCounts) {
  add("p", {{"A", Duration::seconds(5)}, {"B", Duration::seconds(3)}});
  waiting.allow("default/p", "B");
  EXPECT_EQ(waiting.next_deadline(), TimePoint() + Duration::seconds(5));
}

TEST_F(Waiting, TakeEndsTheWait) {
  add("p", {{"A", Duration::seconds(5)}});
  EXPECT_NE(waiting.find("default/p"), nullptr);
  EXPECT_TRUE(waiting.take("default/p"));
  EXPECT_FALSE(waiting.take("default/p"));
  EXPECT_FALSE(waiting.next_deadline());
}

TEST(PermitTimeout, IsSaidInKubernetesWords) {
  EXPECT_EQ(permit_timeout_message("Gang"),
            "rejected due to timeout after waiting at plugin \"Gang\"");
}

} // namespace
} // namespace berth::sched
