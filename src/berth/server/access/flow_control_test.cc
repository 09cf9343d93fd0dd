#include "berth/server/access/flow_control.h"

#include <functional>
#include <map>

#include "berth/base/virtual_loop.h"
#include "berth/server/access/access_fixture.h"
#include "berth/testing/seeds.h"

namespace berth::server {
namespace {

using Verdict = FlowControl::Verdict;

struct Case {
  const char* name;
  const char* who; ///< "user" or "user group"
  const char* what;
  Level level;
};

class LevelTest : public AccessTest, public ::testing::WithParamInterface<Case> {};

TEST_P(LevelTest, IsThatOfTheWork) {
  const std::string who = GetParam().who;
  const std::size_t blank = who.find(' ');
  const User asking =
      blank == std::string::npos ? user(who) : user(who.substr(0, blank), {who.substr(blank + 1)});
  EXPECT_EQ(level_of(asking, asks(GetParam().what)), GetParam().level);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, LevelTest,
    ::testing::Values(
        Case{"probe", "u", "get /healthz", Level::Exempt},
        Case{"one_check_of_a_probe", "u", "get /readyz/ping", Level::Exempt},
        Case{"no_probe", "u", "get /healthzz", Level::Reading},
        Case{"heartbeat", "system:node:a system:nodes", "update leases.coordination.k8s.io n/a",
             Level::System},
        Case{"node_status", "system:node:a system:nodes", "patch nodes/status a", Level::System},
        Case{"pod_status", "system:node:a system:nodes", "patch pods/status ns/a", Level::System},
        Case{"nodes_list_pods_like_others", "system:node:a system:nodes", "list pods",
             Level::Reading},
        Case{"nodes_watch_nodes_like_others", "system:node:a system:nodes", "watch nodes",
             Level::Reading},
        Case{"leader_election", "system:kube-scheduler", "update leases.coordination.k8s.io k/s",
             Level::System},
        Case{"system_account", "sa system:serviceaccounts:kube-system",
             "get leases.coordination.k8s.io k/s", Level::System},
        Case{"leases_of_others", "u", "update leases.coordination.k8s.io n/a", Level::Writing},
        Case{"bindings", "system:kube-scheduler", "create pods/binding ns/a", Level::Writing},
        Case{"get", "u", "get pods ns/a", Level::Reading},
        Case{"list", "u", "list pods", Level::Reading},
        Case{"delete_all", "u", "deletecollection pods ns/", Level::Writing}),
    [](const auto& given) { return given.param.name; });

using Seats = AccessTest;

TEST_F(Seats, ListsTakeMore) {
  EXPECT_EQ(seats_of(asks("get pods ns/a"), 100'000), 1);
  EXPECT_EQ(seats_of(asks("list pods"), 0), 1);
  EXPECT_EQ(seats_of(asks("list pods"), 100), 1);
  EXPECT_EQ(seats_of(asks("list pods"), 101), 2);
  EXPECT_EQ(seats_of(asks("list pods"), 1'000'000), 10);
}

FlowControl::Options small() {
  FlowControl::Options options;
  options.system = {.seats = 2, .waiting = 4, .waiting_of_flow = 2};
  options.writing = {.seats = 2, .waiting = 4, .waiting_of_flow = 2};
  options.reading = {.seats = 4, .waiting = 6, .waiting_of_flow = 4};
  options.patience = Duration::seconds(15);
  return options;
}

TimePoint at(int seconds) {
  return TimePoint::from_unix_seconds(seconds);
}

TEST(FlowControl, AFloodOfListsDoesNotTouchHeartbeats) {
  FlowControl flows(small());
  int running = 0;
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const auto ticket = flows.offer({.level = Level::Reading, .flow = "greedy", .seats = 2}, at(0));
    running += ticket.verdict == Verdict::Run ? 1 : 0;
    refused += ticket.verdict == Verdict::Refuse ? 1 : 0;
  }
  EXPECT_EQ(running, 2);
  EXPECT_EQ(refused, 94) << "four wait";
  for (int i = 0; i < 100; ++i) {
    const auto beat = flows.offer({.level = Level::System, .flow = "node", .seats = 1}, at(0));
    EXPECT_EQ(beat.verdict, Verdict::Run);
    flows.finished(beat.id);
  }
  EXPECT_EQ(flows.offer({.level = Level::Exempt, .flow = "x"}, at(0)).verdict, Verdict::Run);
}

TEST(FlowControl, AFloodOfOneUserLeavesRoomForOthers) {
  FlowControl flows(small());
  std::vector<FlowControl::Id> greedy;
  for (int i = 0; i < 8; ++i) {
    greedy.push_back(
        flows.offer({.level = Level::Reading, .flow = "greedy", .seats = 1}, at(0)).id);
  }
  const auto modest = flows.offer({.level = Level::Reading, .flow = "modest", .seats = 1}, at(0));
  ASSERT_EQ(modest.verdict, Verdict::Wait);
  EXPECT_THAT(flows.finished(greedy[0]), ::testing::ElementsAre(modest.id))
      << "though four of the other's wait longer";
  EXPECT_THAT(flows.finished(modest.id), ::testing::ElementsAre(greedy[4]));
}

TEST(FlowControl, AWideRequestIsNotOvertakenForEver) {
  FlowControl flows(small());
  std::vector<FlowControl::Id> narrow;
  for (int i = 0; i < 4; ++i) {
    narrow.push_back(flows.offer({.level = Level::Reading, .flow = "a", .seats = 1}, at(0)).id);
  }
  const auto wide = flows.offer({.level = Level::Reading, .flow = "b", .seats = 100}, at(0));
  ASSERT_EQ(wide.verdict, Verdict::Wait);
  const auto late = flows.offer({.level = Level::Reading, .flow = "c", .seats = 1}, at(0));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(flows.finished(narrow[static_cast<std::size_t>(i)]).empty());
  }
  EXPECT_THAT(flows.finished(narrow[3]), ::testing::ElementsAre(wide.id));
  EXPECT_EQ(flows.seats_in_use(Level::Reading), 4) << "more seats than there are count as all";
  EXPECT_THAT(flows.finished(wide.id), ::testing::ElementsAre(late.id));
}

TEST(FlowControl, WhoWaitsTooLongIsRefused) {
  FlowControl flows(small());
  const auto wide = flows.offer({.level = Level::Writing, .flow = "a", .seats = 1}, at(0));
  const auto first = flows.offer({.level = Level::Writing, .flow = "a", .seats = 2}, at(1));
  const auto second = flows.offer({.level = Level::Writing, .flow = "b", .seats = 1}, at(2));
  EXPECT_EQ(flows.next_expiry(), at(16));
  EXPECT_TRUE(flows.expire(at(15)).refused.empty());
  const auto expired = flows.expire(at(16));
  EXPECT_THAT(expired.refused, ::testing::ElementsAre(first.id));
  EXPECT_THAT(expired.running, ::testing::ElementsAre(second.id)) << "it stood behind";
  EXPECT_EQ(flows.next_expiry(), std::nullopt);
  flows.finished(wide.id);
  flows.finished(second.id);
  EXPECT_EQ(flows.seats_in_use(Level::Writing), 0);
}

TEST(FlowControl, WhoGoesAwayMakesRoom) {
  FlowControl flows(small());
  const auto running = flows.offer({.level = Level::Writing, .flow = "a", .seats = 2}, at(0));
  const auto waiting = flows.offer({.level = Level::Writing, .flow = "a", .seats = 1}, at(0));
  EXPECT_TRUE(flows.finished(waiting.id).empty());
  EXPECT_EQ(flows.waiting(Level::Writing), 0U);
  EXPECT_TRUE(flows.finished(waiting.id).empty()) << "twice is harmless";
  EXPECT_TRUE(flows.finished(running.id).empty());
  EXPECT_EQ(flows.seats_in_use(Level::Writing), 0);
}

TEST(FlowControl, RefusesWith429) {
  const net::HttpResponse response = to_response(too_many_requests());
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(net::header_of(response.headers, "Retry-After"), "1");
}

/// Random requests of several users over virtual time, each served for a while.
class FlowHistory : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FlowHistory, KeepsItsLimitsAndForgetsNobody) {
  Rng rng(GetParam());
  VirtualLoop loop(at(0));
  FlowControl flows(small());
  Timer expiry(loop);
  std::map<FlowControl::Id, std::pair<Level, int>> running;
  std::map<FlowControl::Id, TimePoint> waiting;
  int offered = 0;
  int ran = 0;
  int refused = 0;
  std::map<FlowControl::Id, FlowControl::Request> asked;

  std::function<void(const std::vector<FlowControl::Id>&)> run;
  std::function<void()> watch_expiry = [&] {
    const auto next = flows.next_expiry();
    if (!next) {
      expiry.cancel();
      return;
    }
    expiry.set(*next - loop.now(), [&] {
      const auto expired = flows.expire(loop.now());
      for (const auto id : expired.refused) {
        ASSERT_EQ(waiting.erase(id), 1U);
        ++refused;
      }
      run(expired.running);
      watch_expiry();
    });
  };
  run = [&](const std::vector<FlowControl::Id>& ids) {
    for (const auto id : ids) {
      waiting.erase(id);
      const FlowControl::Request& request = asked.at(id);
      ASSERT_TRUE(running.emplace(id, std::pair(request.level, request.seats)).second);
      ++ran;
      loop.after(Duration::millis(rng.between(1, 8000)), [&, id] {
        running.erase(id);
        run(flows.finished(id));
        watch_expiry();
      });
    }
  };
  for (int i = 0; i < 300; ++i) {
    loop.after(Duration::millis(rng.between(0, 60'000)), [&] {
      FlowControl::Request request;
      request.level = static_cast<Level>(1 + rng.below(3));
      request.flow = std::string(1, static_cast<char>('a' + rng.below(4)));
      request.seats = static_cast<int>(rng.between(1, 2));
      const auto ticket = flows.offer(request, loop.now());
      ++offered;
      asked.emplace(ticket.id, request);
      if (ticket.verdict == Verdict::Run) {
        run({ticket.id});
      } else if (ticket.verdict == Verdict::Wait) {
        waiting.emplace(ticket.id, loop.now());
      } else {
        ++refused;
      }
      watch_expiry();
    });
  }
  while (loop.step()) {
    std::map<Level, int> seats;
    for (const auto& [id, one] : running) {
      seats[one.first] += one.second;
    }
    for (const Level level : {Level::System, Level::Writing, Level::Reading}) {
      ASSERT_EQ(flows.seats_in_use(level), seats[level]);
      ASSERT_LE(seats[level], level == Level::Reading ? 4 : 2);
    }
    for (const auto& [id, since] : waiting) {
      ASSERT_LE(loop.now() - since, Duration::seconds(15));
    }
  }
  EXPECT_EQ(offered, 300);
  EXPECT_EQ(ran + refused, 300);
  EXPECT_GT(ran, 0);
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(running.empty());
  EXPECT_TRUE(waiting.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, FlowHistory, test::seeds(10));

} // namespace
} // namespace berth::server
