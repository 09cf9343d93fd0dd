#include "berth/server/health.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

class Health : public testing::Test {
 protected:
  std::string ask(std::string_view path, const net::HttpHeaders& query = {}) {
    const auto page = health_page(path, query, checks);
    return page ? std::to_string(page->status) + " " + page->body : "none";
  }

  bool stored = true;
  std::vector<HealthCheck> checks = {
      {.name = "ping", .holds = [] { return Result<void>(); }},
      {.name = "etcd",
       .holds = [this]() -> Result<void> {
         return stored ? Result<void>() : fail(Code::Unavailable, "the disk is full");
       }},
      {.name = "shutdown", .of = HealthCheck::Of::Readiness, .holds = [] {
         return Result<void>();
       }}};
};

TEST_F(Health, AllIsWell) {
  EXPECT_EQ(ask("/livez"), "200 ok");
  EXPECT_EQ(ask("/readyz"), "200 ok");
  EXPECT_EQ(ask("/healthz/"), "200 ok");
  EXPECT_EQ(ask("/livez", {{"verbose", ""}}), "200 [+]ping ok\n[+]etcd ok\nlivez check passed\n");
  EXPECT_EQ(ask("/readyz", {{"verbose", "1"}, {"exclude", "etcd"}}),
            "200 [+]ping ok\n[+]etcd excluded: ok\n[+]shutdown ok\nreadyz check passed\n");
  EXPECT_EQ(ask("/livez/etcd"), "200 ok");
  EXPECT_EQ(ask("/livez/shutdown"), "404 404 page not found\n");
  EXPECT_EQ(ask("/readyz/shutdown"), "200 ok");
  EXPECT_EQ(ask("/live"), "none");
  EXPECT_EQ(ask(""), "none");
}

TEST_F(Health, AFailureIsShownWithoutItsReason) {
  stored = false;
  EXPECT_EQ(ask("/livez"), "500 [+]ping ok\n[-]etcd failed: reason withheld\nlivez check failed\n");
  EXPECT_EQ(ask("/livez/etcd"), "500 internal server error: reason withheld\n");
  EXPECT_EQ(ask("/livez/ping"), "200 ok");
  EXPECT_EQ(ask("/livez", {{"exclude", "etcd"}, {"exclude", "x"}}), "200 ok");
}

} // namespace
} // namespace berth::server
