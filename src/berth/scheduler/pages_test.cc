// The scheduler's pages, asked without a socket.
#include "berth/scheduler/pages.h"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::scheduler {
namespace {

using testing::HasSubstr;

class Pages : public testing::Test {
 protected:
  void SetUp() override {
    plane.create(test::node("n1").cpu("4").memory("64Gi").pods(110));
    auto started = Scheduler::start(plane.client, plane.loop, Rng(5),
                                    {.profiles = {berth_profile()}, .queue = {}});
    ASSERT_TRUE(started.has_value());
    scheduler = *std::move(started);
    router.emplace(pages(*scheduler, plane.loop));
  }
  net::HttpResponse ask(std::string method, std::string target) {
    net::HttpResponse got{.status = 0};
    (*router)({.method = std::move(method), .target = std::move(target)},
              [&](net::HttpResponse response) { got = std::move(response); });
    return got;
  }
  void wait(std::int64_t ms) { plane.run_for(Duration::millis(ms)); }

  test::ControlPlane plane;
  std::unique_ptr<Scheduler> scheduler;
  std::optional<net::HttpRouter> router;
};

TEST_F(Pages, AreHealthyAtOnceAndReadyOnceAllIsListed) {
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
  EXPECT_EQ(ask("GET", "/livez").body, "ok\n");
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
  wait(10);
  EXPECT_EQ(ask("GET", "/readyz").status, 200);
  EXPECT_EQ(ask("GET", "/nothing").status, 404);
  EXPECT_EQ(ask("DELETE", "/metrics").status, 405);
}

TEST_F(Pages, MetricsAreText) {
  wait(10);
  const auto page = ask("GET", "/metrics");
  EXPECT_EQ(net::header_of(page.headers, "Content-Type"),
            "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("# TYPE scheduler_pending_pods gauge\n"));
}

TEST_F(Pages, DecisionsAreKeptFromTheWishOn) {
  plane.create(test::pod("before").cpu("1"));
  wait(10);
  EXPECT_EQ(ask("POST", "/debug/decisions?pod=*").status, 200);
  EXPECT_EQ(ask("POST", "/debug/decisions?pod=*").status, 200) << "twice is once";
  plane.create(test::pod("after").cpu("1"));
  plane.create(test::pod("other").cpu("1"));
  wait(10);
  const auto all = boost::json::parse(ask("GET", "/debug/decisions").body);
  EXPECT_EQ(all.at("items").as_array().size(), 2U);
  EXPECT_EQ(all.at("wanted").as_array().size(), 1U);
  const auto one = boost::json::parse(ask("GET", "/debug/decisions?pod=default%2Fafter").body);
  ASSERT_EQ(one.at("items").as_array().size(), 1U);
  EXPECT_EQ(one.at_pointer("/items/0/attempts/0/outcome").as_string(), "Scheduled");
  EXPECT_THAT(ask("GET", "/debug/decisions?output=text&pod=after").body,
              HasSubstr("DECISION  default/after  attempt 1 of 1 at 0:00:00.0"));
}

TEST_F(Pages, WishesThatNameNothingAreRefusedAndTheirNumberIsBounded) {
  EXPECT_EQ(ask("POST", "/debug/decisions").status, 400);
  EXPECT_EQ(ask("POST", "/debug/decisions?pod=a/b/c").status, 400);
  EXPECT_EQ(ask("GET", "/debug/decisions?pod=a/b/c").status, 400);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ask("POST", "/debug/decisions?pod=p" + std::to_string(i)).status, 200);
  }
  EXPECT_EQ(ask("POST", "/debug/decisions?pod=one-more").status, 400);
}

} // namespace
} // namespace berth::scheduler
