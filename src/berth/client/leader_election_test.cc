// Who leads, in virtual time, over the embedded registry.
#include "berth/client/leader_election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/client/faulty_client.h"
#include "berth/client/local_client.h"
#include "berth/store/memory_store.h"

namespace berth::client {
namespace {

class Election : public testing::Test {
 protected:
  std::unique_ptr<LeaderElection> stand(Client& over, const std::string& who) {
    return std::make_unique<LeaderElection>(
        over, loop, ElectionOptions{.name = "scheduler", .identity = who},
        [this, who] { log.push_back(who + " leads"); },
        [this, who] { log.push_back(who + " lost"); });
  }
  void pass(Duration time) { loop.run_until(loop.now() + time); }
  std::int64_t transitions() {
    return api::find_path(registry.get(kLeases, {"kube-system", "scheduler"})->json(),
                          "spec.leaseTransitions")
        ->to_number<std::int64_t>();
  }

  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  LocalClient client{registry, loop};
  std::vector<std::string> log;
};

TEST_F(Election, OneOfSeveralLeads) {
  const auto a = stand(client, "a");
  const auto b = stand(client, "b");
  pass(Duration::minutes(10));
  EXPECT_THAT(log, testing::ElementsAre("a leads"));
  EXPECT_TRUE(a->leading());
  EXPECT_FALSE(b->leading());
  EXPECT_EQ(b->leader(), "a");
}

TEST_F(Election, WhoReleasesIsFollowedSoon) {
  const auto a = stand(client, "a");
  const auto b = stand(client, "b");
  pass(Duration::seconds(30));
  bool released = false;
  a->release([&] { released = true; });
  pass(Duration::seconds(4));
  EXPECT_TRUE(released);
  EXPECT_THAT(log, testing::ElementsAre("a leads", "b leads"));
  EXPECT_EQ(transitions(), 1);
}

// Whatever is on its way: answers take up to a second here.
TEST_F(Election, TheLeadIsGivenAwayAtAnyMoment) {
  FaultyClient slow(client, loop, Rng(7), {.longest_delay = Duration::seconds(1)});
  for (int i = 0; i < 60; ++i) {
    const auto a = stand(slow, "a");
    pass(Duration::seconds(20) + Duration::millis(100 * i));
    ASSERT_TRUE(a->leading());
    bool released = false;
    a->release([&] { released = true; });
    pass(Duration::seconds(3));
    EXPECT_TRUE(released);
    const auto lease = registry.get(kLeases, {"kube-system", "scheduler"});
    EXPECT_EQ(api::string_at(lease->json(), "spec.holderIdentity"), "") << i;
  }
}

TEST_F(Election, WhoDiesIsFollowedAfterTheLease) {
  auto a = stand(client, "a");
  const auto b = stand(client, "b");
  pass(Duration::seconds(30));
  a = nullptr;
  pass(Duration::seconds(10));
  EXPECT_EQ(log.size(), 1U) << "the lease is still held";
  pass(Duration::seconds(10));
  EXPECT_THAT(log, testing::ElementsAre("a leads", "b leads"));
}

TEST_F(Election, WhoIsCutOffGivesUpBeforeAnotherLeads) {
  FaultyClient line(client, loop, Rng(2), {});
  const auto a = stand(line, "a");
  pass(Duration::seconds(1));
  const auto b = stand(client, "b");
  pass(Duration::seconds(30));
  line.disconnect();
  pass(Duration::minutes(2));
  EXPECT_THAT(log, testing::ElementsAre("a leads", "a lost", "b leads"));
  EXPECT_FALSE(a->leading());
}

} // namespace
} // namespace berth::client
